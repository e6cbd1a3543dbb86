import { isTrue } from "../../api/meta/object-facts.ts";
import { startedProbe, tourPod } from "../model/make-image.ts";
import { restartsOf, type Step, StepFailure } from "../model/step-context.ts";

const name = "slow";
const startSeconds = 6;
const startupTries = 120;

export const slowStarter: Step = {
  title: "A slow start with a strict liveness probe",
  proposal: "KEP-950 startupProbe",
  about:
    "The liveness probe kills the container at its first failure. The startup probe delays it until the program has started, as long as its budget lasts.",
  page: "docs/keps/startup-probe.md",
  async run({ client, image, signal, emit, untilPod }) {
    const exec = startedProbe(image);
    // Starting Node.js for a probe takes long on a busy machine.
    const common = { exec, periodSeconds: 1, timeoutSeconds: 10 };
    const container = {
      env: [{ name: "START_SECONDS", value: String(startSeconds) }],
      startupProbe: { ...common, failureThreshold: startupTries },
      livenessProbe: { ...common, failureThreshold: 1 },
    };
    const simulated = { "exec-exit": `code=1 until=${startSeconds}s` };
    emit({
      kind: "does",
      what: `A container that takes ${startSeconds} s to start`,
      manifest: `startupProbe:  {exec: …, periodSeconds: 1, failureThreshold: ${startupTries}}
livenessProbe: {exec: …, periodSeconds: 1, failureThreshold: 1}`,
    });
    await client.create("pods", tourPod(image, { name, container, simulated }), { signal });
    let seenStarting = false;
    const { pod } = await untilPod(name, "started, after started was false", (facts) => {
      const status = facts.pod.status?.containerStatuses?.[0];
      const failed = facts.events.some(({ message }) => message?.startsWith("Startup probe failed"));
      seenStarting ||= failed || (status?.state?.running !== undefined && status.started === false);
      return status?.started === true;
    });
    if (!seenStarting) throw new StepFailure("the container was started from the beginning");
    if (restartsOf(pod) > 0) throw new StepFailure("the container was restarted while it was starting");
    emit({
      kind: "shown",
      what: "started was false while the program started, and it was not killed: 0 restarts",
    });
    await untilPod(name, "Ready", (facts) => isTrue(facts.pod, "Ready"));
    emit({
      kind: "shown",
      what: "started is true and the pod is Ready; from now on the liveness probe runs",
    });
    emit({
      kind: "look",
      commands: [
        `kubectl get pod ${name} -o jsonpath='{.status.containerStatuses[0].started}'`,
        `kubectl get events --field-selector involvedObject.name=${name},reason=Unhealthy`,
      ],
    });
  },
};
