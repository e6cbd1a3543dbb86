import { beforeAll } from "vitest";
import type { Event, Pod, StatefulSet } from "../../../src/api/meta/objects.ts";
import type { SimulatedRuntime } from "../../../src/simulated/start-simulated-runtime.ts";
import { makeStatefulSet, type StatefulSetFields } from "../manifests/workload.ts";
import { describePod } from "./describe-pod.ts";
import { type TestCluster, type TestClusterOptions, useCluster } from "./use-cluster.ts";

/** A cluster with requests for StatefulSets. Their pods are bound to its only node. */
export interface StatefulSetCluster extends TestCluster {
  create(name: string, fields?: StatefulSetFields): Promise<StatefulSet>;
  get(name: string): Promise<StatefulSet>;
  patch(name: string, body: unknown): Promise<StatefulSet>;
  setImage(name: string, image: string): Promise<StatefulSet>;
  /** Lists the pods of a set by ordinal. */
  pods(name: string): Promise<Pod[]>;
  /** Describes the pods of a set by ordinal: `web-0=web:1 ready`. */
  picture(name: string): Promise<string[]>;
  untilPicture(name: string, expected: readonly string[], timeoutMs?: number): Promise<void>;
  events(name: string): Promise<readonly Event[]>;
  /**
   * Records created and deleted pods from now on: `+web-0=web:1`, `-web-0=web:1`. Two pods with the same name on the
   * node at a time are recorded as `two of web-0`.
   */
  followPods(name: string): Promise<PodLog>;
}

interface PodLog {
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

const namespace = "default";

/** Invalid name of an image. A container with it waits with `InvalidImageName` for ever. */
export const brokenImage = "Broken:1";

/** Describes a set whose pods are all ready, as `picture` does. */
export const readyPods = (name: string, count: number, image = "web:1"): string[] =>
  Array.from({ length: count }, (_, ordinal) => `${name}-${ordinal}=${image} ready`);

/** Starts a cluster like `useCluster`, without a scheduler. */
export function useStatefulSetCluster(
  options: Omit<TestClusterOptions, "nodes" | "scheduler"> = {},
): StatefulSetCluster {
  const cluster = useCluster({ ...options, scheduler: false });
  const extended = {} as StatefulSetCluster;
  beforeAll(() => {
    Object.assign(extended, cluster, createSetRequests(cluster));
  });
  return extended;
}

function createSetRequests(
  cluster: TestCluster,
): Omit<StatefulSetCluster, Exclude<keyof TestCluster, "pods">> {
  const { client, node, simulated, until } = cluster;
  async function pods(name: string): Promise<Pod[]> {
    const ordinal = ({ metadata }: Pod) => Number(metadata.name?.split("-").at(-1));
    return (await cluster.pods(name)).sort((a, b) => ordinal(a) - ordinal(b));
  }
  const picture = async (name: string) => (await pods(name)).map(describePod);
  const get = (name: string) => client.get("statefulsets", { namespace, name });
  const patch = (name: string, body: unknown) =>
    client.patch("statefulsets", { namespace, name }, { patch: { kind: "strategic", body } });

  return {
    create: (name, { pod, ...fields } = {}) =>
      client.create(
        "statefulsets",
        makeStatefulSet(name, { ...fields, pod: { nodeName: node.name, ...pod } }),
      ),
    get,
    patch,
    setImage: (name, image) =>
      patch(name, { spec: { template: { spec: { containers: [{ name: "c", image }] } } } }),
    pods,
    picture,
    async untilPicture(name, expected, timeoutMs) {
      let last: string[] = [];
      const isReached = async () => {
        last = await picture(name);
        return last.join() === expected.join();
      };
      try {
        await until(expected.join(", "), isReached, timeoutMs);
      } catch (error) {
        const { status } = await get(name);
        throw new Error(`${error}\nThe pods are ${last.join(", ")}\n${JSON.stringify(status)}`);
      }
    },
    async events(name) {
      const fieldSelector = `involvedObject.name=${name},involvedObject.kind=StatefulSet`;
      return (await client.list("events", { namespace, fieldSelector })).items;
    },
    async followPods(name) {
      const lines: string[] = [];
      const following = await cluster.follow("pods", { labelSelector: `app=${name}` }, ({ type, object }) => {
        if (type === "MODIFIED") return;
        const image = object.spec?.containers[0]?.image;
        lines.push(`${type === "ADDED" ? "+" : "-"}${object.metadata.name}=${image}`);
      });
      // The API cannot have two pods with the same name; the node can.
      const checking = setInterval(() => lines.push(...findTwins(simulated, name)), 5);
      return {
        lines,
        async stop() {
          await following.stop();
          clearInterval(checking);
        },
      };
    },
  };
}

/** Returns a line for each pod of the set that has a ready sandbox at the same time as another pod with its name. */
function findTwins({ state }: SimulatedRuntime, set: string): string[] {
  const uids = new Map<string, string>();
  const twins: string[] = [];
  for (const { metadata, state: sandboxState } of state.sandboxes.values()) {
    if (sandboxState !== "ready" || metadata.name.replace(/-\d+$/, "") !== set) continue;
    const other = uids.get(metadata.name) ?? metadata.uid;
    if (other !== metadata.uid) twins.push(`two of ${metadata.name}`);
    uids.set(metadata.name, metadata.uid);
  }
  return twins;
}

/** Creates a set of three pods and updates it to an image that does not start, up to the point where that blocks. */
export async function createBroken(
  cluster: StatefulSetCluster,
  name: string,
  { spec, image = brokenImage }: Pick<StatefulSetFields, "spec" | "image">,
): Promise<void> {
  await cluster.create(name, { spec });
  await cluster.untilPicture(name, readyPods(name, 3));
  await cluster.setImage(name, image);
  await cluster.untilPicture(name, [...readyPods(name, 2), `${name}-2=${image} waiting`]);
}
