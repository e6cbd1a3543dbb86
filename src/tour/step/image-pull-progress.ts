import { isTrue } from "../../api/conditions.ts";
import { tourPod } from "../pod.ts";
import type { Step } from "../step.ts";
import { StepFailure } from "../step-failure.ts";

const name = "pull";
const mebi = 2 ** 20;

export const imagePullProgress: Step = {
  title: "A pull that says how far it is",
  proposal: "KEP-3542 image pull progress",
  about:
    "A large image takes minutes, and all that a pod usually says is ContainerCreating. Here the runtime reports how much has arrived, and the kubelet tells it in events and to whoever asks.",
  page: "docs/keps/image-pull-progress.md",
  showsPull: true,
  async run({ client, image, signal, tell, untilPod }) {
    const { bytes, bytesPerSecond } = image;
    tell({
      kind: "does",
      what: `A pod with an image of ${Math.round(bytes / mebi)} MiB, from a registry that sends ${Math.round(bytesPerSecond / mebi)} MiB a second`,
      command: `kubectl run ${name} --image=${image.reference}`,
    });
    await client.create("pods", tourPod(image, { name }), { signal });
    let seen = false;
    const { events } = await untilPod(name, "Ready, with its pull seen on the way", ({ pod, pulls }) => {
      seen ||= pulls.some(({ offset, total }) => offset > 0 && offset < total);
      return isTrue(pod, "Ready");
    });
    const told = events.find(({ message = "" }) => message.startsWith("Pulling Container image"));
    if (!seen && !told)
      throw new StepFailure("the pod became ready, and nobody could see its pull come along");
    if (seen)
      tell({ kind: "shown", what: "the kubelet told at every look how much was there, and of how much" });
    if (told) tell({ kind: "shown", what: `the pod's events told it too: ${told.message}` });
    tell({
      kind: "look",
      commands: [
        `kubectl get events --field-selector involvedObject.name=${name}`,
        `kubectl get --raw /api/v1/nodes/node-1/proxy/imagePullProgress/default/${name}   # while it goes on`,
        `kindling why ${name}`,
      ],
    });
  },
};
