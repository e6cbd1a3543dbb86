import { conditionOf, isTrue } from "../../api/conditions.ts";
import { tourPod } from "../pod.ts";
import { restartsOf } from "../scene.ts";
import type { Step } from "../step.ts";
import { StepFailure } from "../step-failure.ts";

const name = "needs-config";
const configMap = "settings";

export const missingConfigMap: Step = {
  title: "A pod that cannot start, says so, and heals",
  proposal: "KEP-3815 FailingToStart, KEP-3085 PodReadyToStartContainers",
  about:
    "Two conditions tell the stages apart: PodReadyToStartContainers becomes True once volumes, network and sandbox stand; FailingToStart becomes True only for what waiting does not cure.",
  page: "docs/keps/failing-to-start.md",
  async run({ client, image, signal, tell, untilPod }) {
    const env = [{ name: "GREETING", valueFrom: { configMapKeyRef: { name: configMap, key: "greeting" } } }];
    tell({
      kind: "does",
      what: `A pod that takes an environment variable from the config map ${configMap}, which is not there`,
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
    tell({
      kind: "shown",
      what: "PodReadyToStartContainers is True: network and sandbox are not the problem",
    });
    tell({ kind: "shown", what: `FailingToStart is True, ${failing?.reason}: ${failing?.message}` });

    const command = `kubectl create configmap ${configMap} --from-literal=greeting=hello`;
    tell({ kind: "does", what: "The config map is created; nobody touches the pod", command });
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
    const { pod: well } = await untilPod(
      name,
      "Ready, with FailingToStart False",
      ({ pod }) => isTrue(pod, "Ready") && conditionOf(pod, "FailingToStart")?.status === "False",
    );
    if (well.metadata.uid !== metadata.uid || restartsOf(well) > 0) {
      throw new StepFailure("the pod was recreated or restarted on its way");
    }
    tell({ kind: "shown", what: "the same pod is Ready, and FailingToStart is False" });
    tell({
      kind: "look",
      commands: [
        `kubectl get pod ${name} -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}{"\\n"}{end}'`,
      ],
    });
  },
};
