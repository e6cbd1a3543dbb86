import type { ControllerRevision, StatefulSet } from "../../api/objects.ts";
import { labelSelectorOf, matchesLabels } from "../../api/selector.ts";
import type { Client } from "../../client/client.ts";
import { isAlreadyExists } from "../../client/status-errors.ts";
import { claimObjects, decideClaim } from "../claim-objects.ts";
import { type Informers, orphanedIn } from "../informers.ts";
import { decideUpdateRevision, sortRevisions } from "./decide-revisions.ts";
import type { Revision } from "./pod-identity.ts";
import { newRevision, revisionText, templateOf, templateText } from "./revision-data.ts";

export interface Revisions {
  /** The oldest first. */
  readonly all: readonly ControllerRevision[];
  readonly current: Revision;
  readonly update: Revision;
  readonly collisionCount: number;
}

interface RevisionDeps {
  readonly client: Client;
  readonly informers: Informers;
}

/** The revisions of a set, with one for what it asks for now. */
export async function ensureRevisions(
  deps: RevisionDeps,
  set: StatefulSet,
  signal: AbortSignal,
): Promise<Revisions> {
  const all = sortRevisions(await ownRevisions(deps, set, signal));
  const before = set.status?.collisionCount ?? 0;
  const { update, collisionCount } = await ensureUpdateRevision(deps.client, { set, all, before }, signal);
  const current = all.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
  return { all, current: toRevision(current), update: toRevision(update), collisionCount };
}

async function ownRevisions({ client, informers }: RevisionDeps, set: StatefulSet, signal: AbortSignal) {
  const informer = informers.of("controllerrevisions");
  const { namespace = "", uid = "" } = set.metadata;
  const selector = labelSelectorOf(set.spec?.selector) ?? [];
  const seen = [
    ...informer.byIndex("controller", uid),
    ...informer.byIndex("controller", orphanedIn(namespace)),
  ];
  const matching = seen.filter(({ metadata }) => matchesLabels(selector, metadata.labels));
  const claim = decideClaim(set, matching, () => true);
  const resource = "controllerrevisions";
  return claimObjects({ client, resource, ownerResource: "statefulsets", owner: set, claim, signal });
}

async function ensureUpdateRevision(
  client: Client,
  { set, all, before }: { set: StatefulSet; all: readonly ControllerRevision[]; before: number },
  signal: AbortSignal,
): Promise<{ update: ControllerRevision; collisionCount: number }> {
  const decision = decideUpdateRevision(set, all, before);
  switch (decision.kind) {
    case "keep":
      return { update: decision.revision, collisionCount: before };
    case "renumber": {
      const renumbered = { ...decision.revision, revision: decision.to };
      const update = await client.update("controllerrevisions", renumbered, { signal });
      return { update, collisionCount: before };
    }
    case "create":
      return createRevision(client, { set, revision: decision.revision, before }, signal);
  }
}

/** Under the next name while another revision has it. */
async function createRevision(
  client: Client,
  { set, revision, before }: { set: StatefulSet; revision: ControllerRevision; before: number },
  signal: AbortSignal,
): Promise<{ update: ControllerRevision; collisionCount: number }> {
  for (let collisionCount = before; ; collisionCount++) {
    const { name = "" } = newRevision(set, { ...revision, collisionCount }).metadata;
    const named = { ...revision, metadata: { ...revision.metadata, name } };
    try {
      return { update: await client.create("controllerrevisions", named, { signal }), collisionCount };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const { namespace } = set.metadata;
    const existing = await client.get("controllerrevisions", { namespace, name }, { signal });
    // Ours, made by a run that did not live to see it.
    if (revisionText(existing) === templateText(set)) return { update: existing, collisionCount };
  }
}

function toRevision(revision: ControllerRevision): Revision {
  return { name: revision.metadata.name ?? "", template: templateOf(revision) };
}
