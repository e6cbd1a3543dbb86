import { conditionOf, isTrue } from "../../api/meta/object-facts.ts";
import { tourPod } from "../model/make-image.ts";
import { restartsOf, type Step, StepFailure } from "../model/step-context.ts";

const name = "needs-config";
const configMap = "settings";

export const missingConfigMap: Step = {
  title: "A pod that cannot start, reports it, and recovers",
  proposal: "KEP-3815 FailingToStart, KEP-3085 PodReadyToStartContainers",
  about:
    "Two conditions distinguish the stages: PodReadyToStartContainers becomes True once volumes, network and sandbox are ready; FailingToStart becomes True only for problems that do not resolve without a change.",
  page: "docs/keps/failing-to-start.md",
  async run({ client, image, signal, emit, untilPod }) {
    const env = [{ name: "GREETING", valueFrom: { configMapKeyRef: { name: configMap, key: "greeting" } } }];
    emit({
      kind: "does",
      what: `A pod that takes an environment variable from the config map ${configMap}, which does not exist`,
      manifest: `env: [{name: GREETING, valueFrom: {configMapKeyRef: {name: ${configMap}, key: greeting}}}]`,
    });
    const { metadata } = await client.create("pods", tourPod(image, { name, container: { env } }), {
      signal,
    });
    const { pod: stuck } = await untilPod(
      name,
      "its sandbox ready and FailingToStart True",
      ({ pod }) => isTrue(pod, "PodReadyToStartContainers") && isTrue(pod, "FailingToStart"),
    );
    const failing = conditionOf(stuck, "FailingToStart");
    emit({
      kind: "shown",
      what: "PodReadyToStartContainers is True: network and sandbox are not the problem",
    });
    emit({ kind: "shown", what: `FailingToStart is True, ${failing?.reason}: ${failing?.message}` });

    const command = `kubectl create configmap ${configMap} --from-literal=greeting=hello`;
    emit({ kind: "does", what: "The config map is created; the pod is not changed", command });
    await client.create(
      "configmaps",
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: configMap, namespace: "default" },
        data: { greeting: "hello" },
      },
      { signal },
    );
    const { pod: recovered } = await untilPod(
      name,
      "Ready, with FailingToStart False",
      ({ pod }) => isTrue(pod, "Ready") && conditionOf(pod, "FailingToStart")?.status === "False",
    );
    if (recovered.metadata.uid !== metadata.uid || restartsOf(recovered) > 0) {
      throw new StepFailure("the pod was recreated or restarted");
    }
    emit({ kind: "shown", what: "the same pod is Ready, and FailingToStart is False" });
    emit({
      kind: "look",
      commands: [
        `kubectl get pod ${name} -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}{"\\n"}{end}'`,
      ],
    });
  },
};
