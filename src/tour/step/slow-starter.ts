import { isTrue } from "../../api/conditions.ts";
import { startedProbe, tourPod } from "../pod.ts";
import { restartsOf } from "../scene.ts";
import type { Step } from "../step.ts";
import { StepFailure } from "../step-failure.ts";

const name = "slow";
const startSeconds = 6;
const startupTries = 120;

export const slowStarter: Step = {
  title: "A slow starter under an impatient liveness probe",
  proposal: "KEP-950 startupProbe",
  about:
    "Its liveness probe ends the container at the first failure. The startup probe holds it back until the program is up, for as long as its budget lasts, and not a second longer than needed.",
  page: "docs/keps/startup-probe.md",
  async run({ client, image, signal, tell, untilPod }) {
    const exec = startedProbe(image);
    // A look by Node takes its time on a busy machine.
    const common = { exec, periodSeconds: 1, timeoutSeconds: 10 };
    const container = {
      env: [{ name: "START_SECONDS", value: String(startSeconds) }],
      startupProbe: { ...common, failureThreshold: startupTries },
      livenessProbe: { ...common, failureThreshold: 1 },
    };
    const simulated = { "exec-exit": `code=1 until=${startSeconds}s` };
    tell({
      kind: "does",
      what: `A container that takes ${startSeconds} s to come up`,
      manifest: `startupProbe:  {exec: …, periodSeconds: 1, failureThreshold: ${startupTries}}
livenessProbe: {exec: …, periodSeconds: 1, failureThreshold: 1}`,
    });
    await client.create("pods", tourPod(image, { name, container, simulated }), { signal });
    let seenStarting = false;
    const { pod } = await untilPod(name, "started, after it was seen starting", (facts) => {
      const status = facts.pod.status?.containerStatuses?.[0];
      const failed = facts.events.some(({ message }) => message?.startsWith("Startup probe failed"));
      seenStarting ||= failed || (status?.state?.running !== undefined && status.started === false);
      return status?.started === true;
    });
    if (!seenStarting) throw new StepFailure("the container counted as started from the first moment");
    if (restartsOf(pod) > 0) throw new StepFailure("the container was restarted while it was starting");
    tell({
      kind: "shown",
      what: "started was false while the program came up, and nobody ended it: 0 restarts",
    });
    await untilPod(name, "Ready", (facts) => isTrue(facts.pod, "Ready"));
    tell({
      kind: "shown",
      what: "started is true and the pod is Ready; from now on the liveness probe asks",
    });
    tell({
      kind: "look",
      commands: [
        `kubectl get pod ${name} -o jsonpath='{.status.containerStatuses[0].started}'`,
        `kubectl get events --field-selector involvedObject.name=${name},reason=Unhealthy`,
      ],
    });
  },
};
