"""The columns of predictions, and the attributes of a Prediction that hold them. Made from the
program's list by: go test ./cmd/wheel -run TestColumns -update"""

COLUMNS = (
    ("honest_mu", "calibrated.mean"),
    ("honest_low", "calibrated.low"),
    ("honest_high", "calibrated.high"),
    ("honest_claim", "calibrated.claim"),
    ("honest_epistemic", "calibrated.epistemic"),
    ("honest_var", "calibrated.variance"),
    ("mu", "mean"),
    ("var", "variance"),
    ("cov", "cov"),
    ("delta", "delta"),
    ("kappa", "kappa"),
    ("zigzag", "zigzag"),
    ("between_seeds_var", "spread"),
    ("low", "low"),
    ("high", "high"),
)
