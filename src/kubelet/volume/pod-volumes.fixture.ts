import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Pod, PodSpec, Volume } from "../../api/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../container/make-pod.fixture.ts";
import { createReferencedObjects } from "../referenced-objects.ts";
import { StartError } from "../start-error.ts";
import { createPodVolumes } from "./create-pod-volumes.ts";
import { createFakeApi, type FakeApi } from "./fake-api.fixture.ts";
import { createFakeMounter } from "./fake-mounter.fixture.ts";

/** A signal that never aborts. */
export const never = new AbortController().signal;

/** What a kubelet leaves to the next one on its node. */
interface Left {
  readonly podsDir: string;
  readonly api: FakeApi;
}

/** The volumes of kubelets below a directory: of a new node, or of the next kubelet on one. */
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

/** A pod whose only container mounts all the volumes. */
export function podWith(volumes: Volume[], spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  return makePod({ containers: [{ name: "c", image: "i", volumeMounts }], volumes, ...spec });
}

/** A config map or a secret. */
export const holding = (name: string, data: Record<string, string>) => ({
  metadata: { namespace: "shop", name },
  data,
});

/** What is said of each volume that could not be had. */
export async function failuresOf(attempt: Promise<unknown>): Promise<readonly string[]> {
  const error = await attempt.catch((reason: unknown) => reason);
  if (!(error instanceof StartError)) throw new Error(`no StartError: ${error}`);
  expect(error.reason).toBe("FailedMount");
  expect(error.message).toBe(error.failures.join("; "));
  return error.failures;
}
