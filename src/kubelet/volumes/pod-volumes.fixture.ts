import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Pod, PodSpec, Volume } from "../../api/meta/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { createReferencedObjects } from "../model/referenced-objects.ts";
import { StartError } from "../model/start-error.ts";
import { createFakeApi, type FakeApi } from "./fake-api.fixture.ts";
import { createFakeMounter } from "./fake-mounter.fixture.ts";
import { createPodVolumes } from "./pod-volumes.ts";

/** A signal that never aborts. */
export const never = new AbortController().signal;

/** State that a kubelet leaves for the next one on its node. */
interface Left {
  readonly podsDir: string;
  readonly api: FakeApi;
}

/** Creates volumes of kubelets below a directory, for a new node or for the next kubelet on one. */
export function kubeletsIn(folder: string) {
  return (left?: Left) => {
    const clock = createManualClock(Date.UTC(2031, 0, 1));
    const { podsDir, api } = left ?? {
      podsDir: join(mkdtempSync(join(folder, "node-")), "pods"),
      api: createFakeApi(clock),
    };
    const mounter = createFakeMounter();
    const objects = createReferencedObjects({ client: api.client, clock, logger: silentLogger });
    const volumes = createPodVolumes({
      podsDir,
      client: api.client,
      objects,
      clock,
      logger: silentLogger,
      mounter,
      node: () => ({ name: "n1", labels: { zone: "a" }, allocatable: { memory: "1Gi", cpu: "2" } }),
    });
    return { podsDir, api, clock, mounter, objects, volumes };
  };
}

/** Creates a pod whose only container mounts all volumes. */
export function podWith(volumes: Volume[], spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  return makePod({ containers: [{ name: "c", image: "i", volumeMounts }], volumes, ...spec });
}

/** Creates a ConfigMap or Secret. */
export const holding = (name: string, data: Record<string, string>) => ({
  metadata: { namespace: "shop", name },
  data,
});

/** Returns the messages of all failed volumes. */
export async function failuresOf(attempt: Promise<unknown>): Promise<readonly string[]> {
  const error = await attempt.catch((reason: unknown) => reason);
  if (!(error instanceof StartError)) throw new Error(`no StartError: ${error}`);
  expect(error.reason).toBe("FailedMount");
  expect(error.message).toBe(error.failures.join("; "));
  return error.failures;
}
