import { conditionOf, isTrue } from "../../api/conditions.ts";
import { tourPod } from "../pod.ts";
import type { Step } from "../step.ts";
import { StepFailure } from "../step-failure.ts";

const name = "bad-name";
const badImage = "Shop/Web:1:2";

export const invalidImageName: Step = {
  title: "An image name that no registry can have",
  proposal: "KEP-3815 FailingToStart",
  about:
    "A registry that is away may come back, and the pod only waits. A name that cannot be read stays so: the condition says at once that a person has to act.",
  page: "docs/keps/failing-to-start.md",
  async run({ client, image, signal, tell, untilPod }) {
    tell({
      kind: "does",
      what: "A pod with such a name",
      // `kubectl run` would not even send it.
      manifest: `containers: [{name: app, image: "${badImage}"}]`,
    });
    await client.create("pods", tourPod(image, { name, container: { image: badImage } }), { signal });
    const { pod: stuck } = await untilPod(name, "FailingToStart True", ({ pod }) =>
      isTrue(pod, "FailingToStart"),
    );
    const failing = conditionOf(stuck, "FailingToStart");
    if (failing?.reason !== "InvalidImageName") {
      throw new StepFailure(`FailingToStart gives ${failing?.reason} as its reason, not InvalidImageName`);
    }
    tell({ kind: "shown", what: `FailingToStart is True, ${failing.reason}: ${failing.message}` });
    tell({
      kind: "does",
      what: "The name is corrected",
      command: `kubectl set image pod/${name} app=${image.reference}`,
    });
    const body = { spec: { containers: [{ name: "app", image: image.reference }] } };
    await client.patch(
      "pods",
      { namespace: "default", name },
      { patch: { kind: "strategic", body }, signal },
    );
    await untilPod(name, "Ready", ({ pod }) => isTrue(pod, "Ready") && !isTrue(pod, "FailingToStart"));
    tell({ kind: "shown", what: "the pod is Ready" });
    tell({
      kind: "look",
      commands: [
        `kubectl get pods --watch`,
        `kubectl wait --for=condition=FailingToStart pod/${name}   # ends as soon as it is hopeless`,
      ],
    });
  },
};
