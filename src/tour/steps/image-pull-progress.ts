import { isTrue } from "../../api/meta/object-facts.ts";
import { tourPod } from "../model/make-image.ts";
import { type Step, StepFailure } from "../model/step-context.ts";

const name = "pull";
const mebi = 2 ** 20;

export const imagePullProgress: Step = {
  title: "A pull that reports its progress",
  proposal: "KEP-3542 image pull progress",
  about:
    "Pulling a large image takes minutes, and a pod usually only shows ContainerCreating. Here the runtime reports how much has been pulled, and the kubelet publishes it in events and in its API.",
  page: "docs/keps/image-pull-progress.md",
  showsPull: true,
  async run({ client, image, signal, emit, untilPod }) {
    const { bytes, bytesPerSecond } = image;
    emit({
      kind: "does",
      what: `A pod with an image of ${Math.round(bytes / mebi)} MiB, from a registry that sends ${Math.round(bytesPerSecond / mebi)} MiB a second`,
      command: `kubectl run ${name} --image=${image.reference}`,
    });
    await client.create("pods", tourPod(image, { name }), { signal });
    let seen = false;
    const { events } = await untilPod(name, "Ready, after progress of its pull", ({ pod, pulls }) => {
      seen ||= pulls.some(({ offset, total }) => offset > 0 && offset < total);
      return isTrue(pod, "Ready");
    });
    const event = events.find(({ message = "" }) => message.startsWith("Pulling Container image"));
    if (!seen && !event) throw new StepFailure("the pod became ready without any progress of its pull");
    if (seen) emit({ kind: "shown", what: "the kubelet reported how much of the image was pulled" });
    if (event) emit({ kind: "shown", what: `the pod's events reported it too: ${event.message}` });
    emit({
      kind: "look",
      commands: [
        `kubectl get events --field-selector involvedObject.name=${name}`,
        `kubectl get --raw /api/v1/nodes/node-1/proxy/imagePullProgress/default/${name}   # during the pull`,
        `kindling why ${name}`,
      ],
    });
  },
};
