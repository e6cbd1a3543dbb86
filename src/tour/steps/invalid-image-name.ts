import { conditionOf, isTrue } from "../../api/meta/object-facts.ts";
import { tourPod } from "../model/make-image.ts";
import { type Step, StepFailure } from "../model/step-context.ts";

const name = "bad-name";
const badImage = "Shop/Web:1:2";

export const invalidImageName: Step = {
  title: "An invalid image name",
  proposal: "KEP-3815 FailingToStart",
  about:
    "An unavailable registry may recover, and the pod only waits. An invalid name is permanent: the condition reports at once that the pod has to be changed.",
  page: "docs/keps/failing-to-start.md",
  async run({ client, image, signal, emit, untilPod }) {
    emit({
      kind: "does",
      what: "A pod with an invalid image name",
      // `kubectl run` rejects it.
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
    emit({ kind: "shown", what: `FailingToStart is True, ${failing.reason}: ${failing.message}` });
    emit({
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
    emit({ kind: "shown", what: "the pod is Ready" });
    emit({
      kind: "look",
      commands: [
        `kubectl get pods --watch`,
        `kubectl wait --for=condition=FailingToStart pod/${name}   # returns as soon as the failure is permanent`,
      ],
    });
  },
};
