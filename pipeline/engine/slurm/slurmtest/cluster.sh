#!/usr/bin/env bash
# A Slurm cluster of several slurmd on this one machine, for tests. Needs root
# and the Debian packages slurmctld, slurmd, slurm-client and munge; touches
# nothing outside DIR.
#
#   cluster.sh up DIR PORT NODES CPUS   start and wait until the nodes are idle; PORT..PORT+NODES are used
#   cluster.sh down DIR                 end everything that was started, jobs too
#   cluster.sh controller-off DIR       kill the controller, as in an outage
#   cluster.sh controller-on DIR        start it again, with its state
#   cluster.sh node-off DIR NODE        a node loses power: daemon, steps and tasks die at once
#   cluster.sh daemon-off DIR NODE      only its daemon dies: tasks go on, unseen by the controller
#   cluster.sh node-on DIR NODE         start the daemon again
#   cluster.sh tasks DIR [NODE]         process ids of job scripts' processes
set -uo pipefail
PATH=$PATH:/usr/sbin:/sbin
what=$1 dir=$2
export SLURM_CONF=$dir/slurm.conf

die() { echo "cluster.sh: $*" >&2; exit 1; }
run() { # NAME COMMAND…: in the background, its pid remembered
	local name=$1
	shift
	setsid "$@" </dev/null >>"$dir/log/$name.out" 2>&1 &
	echo "$!" >"$dir/pid/$name"
}
alive() { local s; s=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) && [ -n "$s" ] && [ "$s" != Z ]; }
until_true() { # SECONDS COMMAND…
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}
end() { # NAME [SIGNAL]
	local p
	p=$(cat "$dir/pid/$1" 2>/dev/null) || return 0
	alive "$p" && kill "-${2:-TERM}" "$p" 2>/dev/null
	until_true 5 not_alive "$p" || kill -9 "$p" 2>/dev/null
	rm -f "$dir/pid/$1"
}
not_alive() { ! alive "$1"; }
# Processes of this cluster's jobs have its SLURM_CONF and a job id in their
# environment; their parents, the steps, carry the configuration alone.
tasks() { # [NODE]
	local p e
	for p in /proc/[0-9]*; do
		e=$({ tr '\0' '\n' <"$p/environ"; } 2>/dev/null) || continue
		grep -qxF "SLURM_CONF=$SLURM_CONF" <<<"$e" && grep -q '^SLURM_JOB_ID=' <<<"$e" || continue
		[ -z "${1:-}" ] || grep -qxF "SLURMD_NODENAME=$1" <<<"$e" || continue
		[ "${p#/proc/}" = $$ ] || echo "${p#/proc/}"
	done
}
steps_of() { # PID…: the slurmstepd above each
	local p q
	for p in "$@"; do
		q=$(sed 's/.*) . //; s/ .*//' "/proc/$p/stat" 2>/dev/null) || continue
		[ "$(cat "/proc/$q/comm" 2>/dev/null)" = slurmstepd ] && echo "$q"
	done
}
controller() { run slurmctld slurmctld -D; }
node() { run "slurmd-$1" slurmd -D -N "$1"; }

case $what in
up)
	port=$3 nodes=$4 cpus=$5
	[ "$(id -u)" = 0 ] || die "must be root"
	for c in slurmctld slurmd sbatch munged; do command -v "$c" >/dev/null || die "$c is not installed"; done
	[ ! -e "$dir/pid" ] || die "$dir is in use"
	mkdir -p "$dir"/{pid,log,state,spool,munge} && chmod 755 "$dir"
	host=$(hostname -s)
	addr=$(getent ahostsv4 "$host" 2>/dev/null | awk '$1 ~ /^127\./ {print $1; exit}')
	listen=
	[ -n "$addr" ] && listen=CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
	addr=${addr:-127.0.0.1}
	cat >"$dir/slurm.conf" <<-CONF
		ClusterName=doubletake
		SlurmctldHost=$host($addr)
		SlurmctldPort=$port
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		CredType=cred/munge
		# cred_expire is also how long a requeued job waits before it starts again
		AuthInfo=socket=$dir/munge/socket,cred_expire=5
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool/%n
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd-%n.pid
		SlurmctldLogFile=$dir/log/slurmctld.log
		SlurmdLogFile=$dir/log/%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SwitchType=switch/none
		MpiDefault=none
		$listen
		SlurmdParameters=config_overrides
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		SchedulerType=sched/backfill
		SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
		SlurmdTimeout=5
		SlurmctldTimeout=5
		MessageTimeout=5
		KillWait=2
		MinJobAge=300
		ReturnToService=2
		JobRequeue=1
		MaxArraySize=40
		NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=$addr Port=[$((port + 1))-$((port + nodes))] CPUs=$cpus RealMemory=1000 State=UNKNOWN
		PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
		PartitionName=brief Nodes=ALL MaxTime=1 DefaultTime=1 State=UP
	CONF
	v=$(slurmd -V | sed -E 's/.* ([0-9]+)\.([0-9]+).*/\1\2/')
	# The plugin that does nothing until it is used; a container has no cgroups to give.
	echo "CgroupPlugin=$([ "$v" -ge 2311 ] && echo disabled || echo cgroup/v1)" >"$dir/cgroup.conf"
	(umask 077 && head -c 128 /dev/urandom >"$dir/munge/key") || die "make key"
	chown -R munge: "$dir/munge" && chmod 711 "$dir/munge"
	run munged setpriv --reuid munge --regid munge --clear-groups munged --foreground --force --key-file="$dir/munge/key" \
		--socket="$dir/munge/socket" --pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed" --log-file="$dir/munge/log"
	until_true 10 munge -S "$dir/munge/socket" -n || die "munged does not answer"
	controller
	for i in $(seq "$nodes"); do
		mkdir -p "$dir/spool/n$i"
		node "n$i"
	done
	ready() { [ "$(sinfo -h -N -p test -t idle -o %N | wc -l)" = "$nodes" ]; }
	until_true 40 ready || { tail -n 5 "$dir"/log/*.log >&2; die "the nodes do not become idle"; }
	;;
down)
	[ -e "$dir/pid" ] || exit 0
	for f in "$dir"/pid/slurmd-* "$dir"/pid/slurmctld; do [ -e "$f" ] && end "$(basename "$f")" KILL; done
	left=$(tasks)
	[ -n "$left" ] && kill -9 $(steps_of $left) $left 2>/dev/null
	for p in /proc/[0-9]*; do # steps that have no task any more
		[ "$(cat "$p/comm" 2>/dev/null)" = slurmstepd ] && { tr '\0' '\n' <"$p/environ"; } 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF" && kill -9 "${p#/proc/}"
	done
	end munged
	rm -rf "$dir/pid"
	;;
controller-off) end slurmctld KILL ;;
controller-on) controller ;;
node-off)
	t=$(tasks "$3")
	s=$(steps_of $t)
	end "slurmd-$3" KILL
	kill -9 $s $t 2>/dev/null
	;;
daemon-off) end "slurmd-$3" KILL ;;
node-on) node "$3" ;;
tasks) tasks "${3:-}" ;;
*) die "unknown command $what" ;;
esac
exit 0
