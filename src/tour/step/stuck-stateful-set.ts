import { isTrue } from "../../api/conditions.ts";
import type { Pod, StatefulSet } from "../../api/objects.ts";
import { explainStatefulSet } from "../../monitor/explain/explain-stateful-set.ts";
import { gatherSet } from "../../monitor/explain/gather-facts.ts";
import { tourPodSpec } from "../pod.ts";
import type { Scene } from "../scene.ts";
import type { Step } from "../step.ts";
import { StepFailure } from "../step-failure.ts";
import type { TourImage } from "../tour-image.ts";

const name = "db";
const key = { namespace: "default", name };
const last = `${name}-1`;
const badImage = "Shop/Database:1:2";

export const stuckStatefulSet: Step = {
  title: "A StatefulSet that gets stuck, and one that does not",
  proposal: "KEP-3541 EnforcedRollingUpdate",
  about:
    "A rollout to a broken template leaves a broken pod. RollingUpdate waits for that pod to become ready before it goes on, even when the template is mended long since. EnforcedRollingUpdate replaces it.",
  page: "docs/keps/enforced-rolling-update.md",
  async run(scene) {
    const { client, image, signal, tell } = scene;
    tell({
      kind: "does",
      what: "A StatefulSet of two pods",
      manifest: "replicas: 2\nupdateStrategy: {type: RollingUpdate}",
    });
    await client.create("statefulsets", healthySet(image), { signal });
    await scene.untilPod(last, "Ready", ({ pod }) => isTrue(pod, "Ready"));

    tell({
      kind: "does",
      what: "A bad rollout",
      command: `kubectl set image statefulset/${name} app=${badImage}`,
    });
    const wrong = await changeImage(scene, badImage);
    await scene.untilPod(
      last,
      "of the new revision, and FailingToStart",
      ({ pod }) => revisionOf(pod) === wrong && isTrue(pod, "FailingToStart"),
    );
    tell({ kind: "shown", what: `${last} is replaced and cannot start; ${name}-0 is left alone` });

    tell({
      kind: "does",
      what: "The template is mended",
      command: `kubectl rollout undo statefulset/${name}`,
    });
    const right = await changeImage(scene, image.reference);
    const { pod: stuck } = await scene.linger(last, 3_000);
    if (revisionOf(stuck) !== wrong)
      throw new StepFailure(`RollingUpdate has replaced ${last}, which it never does`);
    const { set, pods } = await gatherSet(client, key, signal);
    tell({ kind: "shown", what: `stuck: ${explainStatefulSet(set, pods).because}` });

    const body = { spec: { updateStrategy: { type: "EnforcedRollingUpdate" } } };
    tell({
      kind: "does",
      what: "The same set, with EnforcedRollingUpdate",
      command: `kubectl patch statefulset ${name} -p '${JSON.stringify(body)}'`,
    });
    await client.patch("statefulsets", key, { patch: { kind: "strategic", body }, signal });
    await scene.untilPod(
      last,
      "of the mended revision and Ready",
      ({ pod }) => revisionOf(pod) === right && isTrue(pod, "Ready"),
    );
    await scene.untilSet(name, "2 pods ready", ({ status }) => status?.readyReplicas === 2);
    tell({ kind: "shown", what: `${last} was replaced and both pods are Ready` });
    tell({
      kind: "look",
      // `kubectl rollout status` knows no strategy but RollingUpdate.
      commands: [
        `kubectl wait --for=condition=Progressing statefulset/${name}`,
        `kindling why statefulset/${name}`,
      ],
    });
  },
};

function healthySet(image: TourImage): StatefulSet {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: key,
    spec: {
      serviceName: name,
      replicas: 2,
      selector: { matchLabels: labels },
      updateStrategy: { type: "RollingUpdate" },
      template: { metadata: { labels }, spec: tourPodSpec(image) },
    },
  };
}

/** The revision that the controller made of the change. */
async function changeImage({ client, signal, untilSet }: Scene, image: string): Promise<string> {
  const body = { spec: { template: { spec: { containers: [{ name: "app", image }] } } } };
  const { metadata } = await client.patch("statefulsets", key, {
    patch: { kind: "strategic", body },
    signal,
  });
  const { status } = await untilSet(
    name,
    "its change taken up",
    (set) => (set.status?.observedGeneration ?? 0) >= (metadata.generation ?? 0),
  );
  return status?.updateRevision ?? "";
}

function revisionOf({ metadata }: Pod): string | undefined {
  return metadata.labels?.["controller-revision-hash"];
}
