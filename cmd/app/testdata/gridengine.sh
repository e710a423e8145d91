#!/bin/bash
# up DIR PORT SLOTS: brings up a Grid Engine 8.1.9 of Debian of one node below DIR, for tests. The process ids of its
# daemons are in DIR/*.pid.
set -eu
root=$1 port=$2 slots=$3
lib=/usr/lib/gridengine host=$(hostname)
mkdir -p "$root"/default/common "$root"/spool/{qmaster/job_scripts,db,execd} "$root"/home
for d in bin lib util utilbin; do ln -s /var/lib/gridengine/$d "$root"/$d; done
export SGE_ROOT=$root SGE_CELL=default SGE_QMASTER_PORT=$port SGE_EXECD_PORT=$((port + 1)) PATH=$lib:$PATH
echo "$host" >"$root"/default/common/act_qmaster
echo "$host localhost $(getent hosts 127.0.0.1 | cut -s -d" " -f2- | xargs)" >"$root"/default/common/host_aliases
cat >"$root"/default/common/bootstrap <<END
admin_user none
default_domain none
ignore_fqdn false
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params $root/spool/db
binary_path /usr/sbin
qmaster_spool_dir $root/spool/qmaster
security_mode none
listener_threads 1
worker_threads 1
scheduler_threads 1
END
$lib/spoolinit berkeleydb libspoolb "$root"/spool/db init
sed -e "s|^execd_spool_dir.*|execd_spool_dir $root/spool/execd|; s/^min_[ug]id.*//; s/^load_report_time.*/load_report_time 00:00:02/; s/^execd_params.*/execd_params PTF_MIN_PRIORITY=0/" /usr/share/gridengine/default-configuration >"$root"/conf
printf 'min_uid 0\nmin_gid 0\n' >>"$root"/conf
$lib/spooldefaults configuration "$root"/conf
$lib/spooldefaults complexes /usr/share/gridengine/util/resources/centry
$lib/spooldefaults usersets /usr/share/gridengine/util/resources/usersets
$lib/spooldefaults managers root
export SGE_ND=1
setsid $lib/sge_qmaster >"$root"/qmaster.log 2>&1 </dev/null &
echo $! >"$root"/qmaster.pid
for i in $(seq 60); do qconf -sss >/dev/null 2>&1 && break; sleep 0.1; done
qconf -ah "$host" || true
qconf -as "$host"
printf 'group_name @allhosts\nhostlist %s\n' "$host" >"$root"/hg; qconf -Ahgrp "$root"/hg
qconf -sq >/dev/null 2>&1 || true
qconf -ssconf | sed 's/^schedule_interval.*/schedule_interval 0:0:1/; s/^flush_submit_sec.*/flush_submit_sec 1/; s/^flush_finish_sec.*/flush_finish_sec 1/' >"$root"/sconf
qconf -Msconf "$root"/sconf
setsid $lib/sge_execd >"$root"/execd.log 2>&1 </dev/null &
echo $! >"$root"/execd.pid
for i in $(seq 60); do qconf -sel 2>/dev/null | grep -q . && break; sleep 0.1; done
cat >"$root"/queue <<END
qname all.q
hostlist @allhosts
seq_no 0
load_thresholds NONE
suspend_thresholds NONE
nsuspend 1
suspend_interval 00:05:00
priority 0
min_cpu_interval 00:05:00
processors UNDEFINED
qtype BATCH
ckpt_list NONE
pe_list NONE
rerun FALSE
slots $slots
tmpdir /tmp
shell /bin/sh
prolog NONE
epilog NONE
shell_start_mode posix_compliant
starter_method NONE
suspend_method NONE
resume_method NONE
terminate_method NONE
notify 00:00:60
owner_list NONE
user_lists NONE
xuser_lists NONE
subordinate_list NONE
complex_values NONE
projects NONE
xprojects NONE
calendar NONE
initial_state default
s_rt INFINITY
h_rt INFINITY
s_cpu INFINITY
h_cpu INFINITY
s_fsize INFINITY
h_fsize INFINITY
s_data INFINITY
h_data INFINITY
s_stack INFINITY
h_stack INFINITY
s_core INFINITY
h_core INFINITY
s_rss INFINITY
h_rss INFINITY
s_vmem INFINITY
h_vmem INFINITY
END
qconf -Aq "$root"/queue
qstat -f
