import { isTrue } from "../../api/meta/object-facts.ts";
import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { explainStatefulSet } from "../../explain/explain-stateful-set.ts";
import { gatherSet } from "../../monitor/feed/gather-workload.ts";
import { type TourImage, tourPodSpec } from "../model/make-image.ts";
import { type Step, type StepContext, StepFailure } from "../model/step-context.ts";

const name = "db";
const key = { namespace: "default", name };
const last = `${name}-1`;
const badImage = "Shop/Database:1:2";

export const stuckStatefulSet: Step = {
  title: "A StatefulSet that gets stuck, and one that does not",
  proposal: "KEP-3541 EnforcedRollingUpdate",
  about:
    "A rollout to a broken template leaves a broken pod. RollingUpdate waits for that pod to become ready before it continues, even after the template is corrected. EnforcedRollingUpdate replaces it.",
  page: "docs/keps/enforced-rolling-update.md",
  async run(context) {
    const { client, image, signal, emit } = context;
    emit({
      kind: "does",
      what: "A StatefulSet of two pods",
      manifest: "replicas: 2\nupdateStrategy: {type: RollingUpdate}",
    });
    await client.create("statefulsets", healthySet(image), { signal });
    await context.untilPod(last, "Ready", ({ pod }) => isTrue(pod, "Ready"));

    emit({
      kind: "does",
      what: "A bad rollout",
      command: `kubectl set image statefulset/${name} app=${badImage}`,
    });
    const wrong = await changeImage(context, badImage);
    await context.untilPod(
      last,
      "of the new revision, and FailingToStart",
      ({ pod }) => revisionOf(pod) === wrong && isTrue(pod, "FailingToStart"),
    );
    emit({ kind: "shown", what: `${last} is replaced and cannot start; ${name}-0 is not changed` });

    emit({
      kind: "does",
      what: "The template is corrected",
      command: `kubectl rollout undo statefulset/${name}`,
    });
    const right = await changeImage(context, image.reference);
    const { pod: stuck, now } = await context.showFor(last, 3_000);
    if (revisionOf(stuck) !== wrong)
      throw new StepFailure(`RollingUpdate has replaced ${last}, which it should not do`);
    const { set, pods } = await gatherSet(client, key, signal);
    emit({ kind: "shown", what: `stuck: ${explainStatefulSet({ set, pods, now }).because}` });

    const body = { spec: { updateStrategy: { type: "EnforcedRollingUpdate" } } };
    emit({
      kind: "does",
      what: "The same set, with EnforcedRollingUpdate",
      command: `kubectl patch statefulset ${name} -p '${JSON.stringify(body)}'`,
    });
    await client.patch("statefulsets", key, { patch: { kind: "strategic", body }, signal });
    await context.untilPod(
      last,
      "of the corrected revision and Ready",
      ({ pod }) => revisionOf(pod) === right && isTrue(pod, "Ready"),
    );
    await context.untilSet(name, "2 pods ready", ({ status }) => status?.readyReplicas === 2);
    emit({ kind: "shown", what: `${last} was replaced and both pods are Ready` });
    emit({
      kind: "look",
      // `kubectl rollout status` supports only RollingUpdate.
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

/** Changes the image. Returns the name of the new revision. */
async function changeImage({ client, signal, untilSet }: StepContext, image: string): Promise<string> {
  const body = { spec: { template: { spec: { containers: [{ name: "app", image }] } } } };
  const { metadata } = await client.patch("statefulsets", key, {
    patch: { kind: "strategic", body },
    signal,
  });
  const { status } = await untilSet(
    name,
    "change observed",
    (set) => (set.status?.observedGeneration ?? 0) >= (metadata.generation ?? 0),
  );
  return status?.updateRevision ?? "";
}

function revisionOf({ metadata }: Pod): string | undefined {
  return metadata.labels?.["controller-revision-hash"];
}
