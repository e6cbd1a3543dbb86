import type { Event, Node, StatefulSet } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";
import { createInformer, type Informer } from "../../client/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { followEvents } from "../follow-events.ts";

/** What the page shows and the monitor does not follow. */
export interface FeedSources {
  readonly sets: Informer<StatefulSet>;
  readonly nodes: Informer<Node>;
  run(signal: AbortSignal): Promise<void>;
}

interface FeedSourcesDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** About anything but pods: of those the monitor tells. */
  onEvent(event: Event): void;
}

export function createFeedSources({ client, clock, logger, onEvent }: FeedSourcesDeps): FeedSources {
  const common = { client, clock, logger };
  const sets = createInformer({ ...common, resource: "statefulsets", trim: trimSet });
  const nodes = createInformer({ ...common, resource: "nodes", trim: trimNode });
  const events = { ...common, fieldSelector: "involvedObject.kind!=Pod", onEvent };
  return {
    sets,
    nodes,
    async run(signal) {
      await Promise.all([sets.run(signal), nodes.run(signal), followEvents(events, signal)]);
    },
  };
}

function trimSet({ apiVersion, kind, metadata, spec, status }: StatefulSet): StatefulSet {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion },
    spec: spec && { ...spec, selector: {}, template: {}, volumeClaimTemplates: [] },
    status,
  };
}

/** A node's list of images is most of it. */
function trimNode({ apiVersion, kind, metadata, status }: Node): Node {
  const { name, uid, resourceVersion } = metadata;
  const conditions = status?.conditions?.filter(({ type }) => type === "Ready");
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion },
    status: { conditions, nodeInfo: status?.nodeInfo },
  };
}
