"""The columns of predictions, and the attributes of a Prediction that hold them. Made from the
program's list by: go test ./cmd/wheel -run TestColumns -update"""

COLUMNS = (
    ("%s", "mean"),
    ("%s_low", "low"),
    ("%s_high", "high"),
    ("%s_sd", "sd"),
    ("%s_sd_epistemic", "sd_epistemic"),
    ("%s_sd_noise", "sd_noise"),
    ("%s_sd_claimed", "sd_claimed"),
    ("%s_no_interval", "no_interval"),
    ("network_%s", "network.mean"),
    ("network_%s_low", "network.low"),
    ("network_%s_high", "network.high"),
    ("network_%s_var", "network.variance"),
    ("network_%s_cov", "network.cov"),
    ("network_%s_delta", "network.delta"),
    ("network_%s_kappa", "network.kappa"),
    ("network_%s_zigzag", "network.zigzag"),
    ("network_%s_between_seeds_var", "network.spread"),
    ("network_%s_mean_low", "network.mean_low"),
    ("network_%s_mean_high", "network.mean_high"),
)
