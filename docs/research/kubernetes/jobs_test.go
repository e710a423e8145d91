// Package kubernetes checks the Jobs that pipeline tasks --format k8s writes against the types of Kubernetes' own
// API. It is here, because the program itself does not depend on them. No cluster runs the Jobs.
package kubernetes

import (
	"strings"
	"testing"

	"doubletake/pipeline/engine/job"
	"github.com/stretchr/testify/require"
	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// Strict decoding knows every field, and the values are those that an Indexed Job needs: kubernetes.io,
// "Indexed Job for Parallel Processing with Static Work Assignment", and API reference batch/v1.
func TestJobs(t *testing.T) {
	words := []string{"pipeline", "exec", "--plan", `a "plan".yaml`, "--stage", "dsp", "--part"}
	w := job.Workflow{
		Plan: "plan.yaml", Dir: "/data/my project", Image: "registry/doubletake:1", Run: "1a2b", User: 1000, Group: 100,
		Arrays: []job.Array{
			{Name: "dsp", Parts: 3, Words: words, Settings: job.Settings{Time: "2:00:00", Mem: "2G", CPUs: 4}},
			{Name: "dsp-2", Parts: 1, Words: words},
		},
	}

	var b strings.Builder
	require.NoError(t, w.Write(&b, "k8s"))

	parts := strings.Split(b.String(), "<<'END'\n")[1:]
	if len(parts) != 2 {
		t.Fatalf("%d manifests", len(parts))
	}

	for i, p := range parts {
		text, rest, _ := strings.Cut(p, "\nEND\n")

		var j batch.Job
		if err := yaml.UnmarshalStrict([]byte(text), &j); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}

		n, pod := int32([]int{3, 1}[i]), j.Spec.Template.Spec
		c := pod.Containers[0]
		if j.APIVersion != "batch/v1" || j.Kind != "Job" || *j.Spec.CompletionMode != batch.IndexedCompletion ||
			*j.Spec.Completions != n || *j.Spec.Parallelism != n || pod.RestartPolicy != "Never" ||
			*pod.SecurityContext.RunAsUser != 1000 ||
			!strings.Contains(rest, "--for=condition=complete --timeout=10s job/"+j.Name) {
			t.Errorf("%+v", j.Spec)
		}

		// Kubernetes replaces $(PART) in the words of the command: the index from 0, which exec takes so.
		if got := strings.Join(c.Command, "|"); got != strings.Join(words, "|")+"|$(PART)/"+[]string{"3", "1"}[i] ||
			c.Env[0].Name != "PART" || c.Env[0].ValueFrom.FieldRef.FieldPath !=
			"metadata.annotations['"+batch.JobCompletionIndexAnnotation+"']" || c.WorkingDir != w.Dir {
			t.Errorf("%s %+v in %q", got, c.Env, c.WorkingDir)
		}

		if c.VolumeMounts[0].MountPath != w.Dir || pod.Volumes[0].HostPath.Path != w.Dir {
			t.Errorf("%+v %+v", c.VolumeMounts, pod.Volumes)
		}

		if i == 0 && (c.Resources.Requests.Cpu().Value() != 4 || c.Resources.Limits.Memory().Value() != 2<<30 ||
			*pod.ActiveDeadlineSeconds != 7200) {
			t.Errorf("%+v, %d s", c.Resources, *pod.ActiveDeadlineSeconds)
		}
	}
}
