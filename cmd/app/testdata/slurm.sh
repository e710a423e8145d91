#!/usr/bin/env bash
# A Slurm cluster of several slurmd on this one machine, for tests. Needs root
# and the Debian packages slurmctld, slurmd, slurm-client and munge; touches
# nothing outside DIR.
#
#   slurm.sh up DIR PORT NAME:NODES:CPUS:OPTIONS…   start partitions, each on nodes of its own, and wait
#                                  until all are idle; the ports from PORT on are used, one per node and one more
#   slurm.sh guard DIR           wait for the end of standard input, then end everything that was started,
#                                  jobs too, and remove DIR
#   slurm.sh controller-off DIR  end the controller, as in an outage; it saves its state (one that is killed
#                                  forgets the last seconds, gives job numbers again and has nodes drained)
#   slurm.sh controller-on DIR   start it again, with its state
#   slurm.sh node-off DIR NODE   a node loses power: daemon, steps and tasks die at once
#   slurm.sh node-blind DIR NODE FOLDER  start it where FOLDER is empty, as without the shared file system
#   slurm.sh logs DIR            the ends of the daemons' logs
set -uo pipefail
PATH=$PATH:/usr/sbin:/sbin
what=$1 dir=$2
export SLURM_CONF=$dir/slurm.conf

die() { echo "slurm.sh: $*" >&2; exit 1; }
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
	until_true 60 not_alive "$p" || kill -9 "$p" 2>/dev/null
	rm -f "$dir/pid/$1"
}
not_alive() { ! alive "$1"; }
# Every process of this cluster carries its SLURM_CONF in its environment:
# daemons, steps, jobs' processes, and drivers that tests started.
owned() { (unset SLURM_CONF; grep -lzxF "SLURM_CONF=$dir/slurm.conf" /proc/[0-9]*/environ) 2>/dev/null; }
pids() { sed 's:^/proc/::; s:/environ$::'; }
tasks() { owned | xargs -r grep -lz '^SLURM_JOB_ID=' 2>/dev/null | xargs -r grep -lzxF "SLURMD_NODENAME=$1" 2>/dev/null | pids; } # NODE
steps_of() { # PID…: the slurmstepd above each
	local p q
	for p in "$@"; do
		q=$(sed 's/.*) . //; s/ .*//' "/proc/$p/stat" 2>/dev/null) || continue
		[ "$(cat "/proc/$q/comm" 2>/dev/null)" = slurmstepd ] && echo "$q"
	done
}
logs() { tail -n 20 "$dir"/log/*; }
controller() { run slurmctld slurmctld -D; }
node() { run "slurmd-$1" slurmd -D -N "$1"; }

down() {
	local p i
	end up KILL
	for i in $(seq 50); do
		p=$(owned | pids)
		[ -n "$p" ] || break
		kill -9 $p 2>/dev/null
		sleep 0.1
	done
	rm -rf "$dir"
}

case $what in
up)
	port=$3
	shift 3
	[ "$(id -u)" = 0 ] || die "must be root"
	[ ! -e "$dir/pid" ] || die "$dir is in use"
	mkdir -p "$dir"/{pid,log,state,spool,munge} && chmod 755 "$dir"
	echo $$ >"$dir/pid/up"
	host=$(hostname -s)
	addr=$(getent ahostsv4 "$host" 2>/dev/null | awk '$1 ~ /^127\./ {print $1; exit}')
	listen=
	[ -n "$addr" ] && listen=CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
	addr=${addr:-127.0.0.1}
	# Timeouts are those of a cluster in a hurry, yet long enough that a node of a
	# machine under load is not taken for dead.
	cat >"$dir/slurm.conf" <<-CONF
		ClusterName=doubletake
		SlurmctldHost=$host($addr)
		SlurmctldPort=$port
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		CredType=cred/munge
		# cred_expire is also how long a requeued job waits before it starts again
		AuthInfo=socket=$dir/munge/socket,cred_expire=15
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool/%n
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd-%n.pid
		SlurmctldLogFile=$dir/log/slurmctld.log
		SlurmdLogFile=$dir/log/%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		SwitchType=switch/none
		AccountingStorageType=accounting_storage/none
		MpiDefault=none
		$listen
		SlurmdParameters=config_overrides
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		SchedulerType=sched/backfill
		SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
		SlurmdTimeout=25
		SlurmctldTimeout=5
		MessageTimeout=10
		KillWait=2
		MinJobAge=600
		ReturnToService=2
		JobRequeue=1
		MaxArraySize=40
	CONF
	nodes=0
	for p in "$@"; do
		IFS=: read -r name n cpus options <<<"$p"
		list=n[$((nodes + 1))-$((nodes + n))]
		[ "$n" = 1 ] && list=n$((nodes + 1))
		ports=[$((port + nodes + 1))-$((port + nodes + n))]
		[ "$n" = 1 ] && ports=$((port + nodes + 1))
		cat >>"$dir/slurm.conf" <<-CONF
			NodeName=$list NodeHostname=$host NodeAddr=$addr Port=$ports CPUs=$cpus RealMemory=1000 State=UNKNOWN
			PartitionName=$name Nodes=$list State=UP $options
		CONF
		nodes=$((nodes + n))
	done
	v=$(slurmd -V | sed -E 's/.* ([0-9]+)\.([0-9]+).*/\1\2/')
	# The plugin that does nothing until it is used; a container has no cgroups to give.
	echo "CgroupPlugin=$([ "$v" -ge 2311 ] && echo disabled || echo cgroup/v1)" >"$dir/cgroup.conf"
	(umask 077 && head -c 128 /dev/urandom >"$dir/munge/key") || die "make key"
	chown -R munge: "$dir/munge" && chmod 711 "$dir/munge"
	run munged setpriv --reuid munge --regid munge --clear-groups munged --foreground --force --key-file="$dir/munge/key" \
		--socket="$dir/munge/socket" --pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed" --log-file="$dir/munge/log"
	until_true 60 munge -S "$dir/munge/socket" -n || { cat "$dir/log/munged.out" >&2; die "munged does not answer"; }
	controller
	for i in $(seq "$nodes"); do
		mkdir -p "$dir/spool/n$i"
		node "n$i"
	done
	ready() { [ "$(sinfo -h -N -t idle -o %N | wc -l)" = "$nodes" ]; }
	until_true 90 ready || { logs >&2; die "the nodes do not become idle"; }
	rm "$dir/pid/up"
	;;
guard)
	cat >/dev/null
	down
	;;
controller-off) end slurmctld ;;
controller-on) controller ;;
node-off)
	end "slurmd-$3" KILL
	t=$(tasks "$3")
	kill -9 $(steps_of $t) $t 2>/dev/null
	;;
node-blind) run "slurmd-$3" unshare -m sh -c 'mount -t tmpfs none "$0" && exec slurmd -D -N "$1"' "$4" "$3" ;;
logs) logs ;;
*) die "unknown command $what" ;;
esac
exit 0
