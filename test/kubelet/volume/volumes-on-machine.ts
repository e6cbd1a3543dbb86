import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod, Volume } from "../../../src/api/meta/objects.ts";
import { makePod } from "../../../src/kubelet/containers/make-pod.fixture.ts";
import { createReferencedObjects } from "../../../src/kubelet/model/referenced-objects.ts";
import { createFakeApi, type FakeApi } from "../../../src/kubelet/volumes/fake-api.fixture.ts";
import { createPodVolumes, type RunningPodVolumes } from "../../../src/kubelet/volumes/pod-volumes.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";

export interface VolumesOnMachine {
  readonly folder: string;
  readonly podsDir: string;
  readonly api: FakeApi;
  /** A kubelet's volumes, with nothing in memory: as after a restart. */
  restart(): RunningPodVolumes;
  /** Mount points below the folder. */
  mounts(): string[];
  remove(): void;
}

/** Real mounts in a separate folder, so that all of them can be removed after a failed test. */
export function volumesOnMachine(): VolumesOnMachine {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "kindling-mounts-")));
  const podsDir = join(folder, "pods");
  const api = createFakeApi(systemClock);
  const mounts = () =>
    readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[4] ?? "")
      .filter((point) => point.startsWith(`${folder}/`));
  return {
    folder,
    podsDir,
    api,
    restart: () => openVolumes(podsDir, api),
    mounts,
    remove() {
      for (const point of mounts().reverse()) spawnSync("umount", ["-l", point]);
      // Does not cross a mount that could not be removed.
      if (mounts().length === 0) rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function openVolumes(podsDir: string, api: FakeApi): RunningPodVolumes {
  const deps = { client: api.client, clock: systemClock, logger: silentLogger };
  return createPodVolumes({
    ...deps,
    podsDir,
    objects: createReferencedObjects(deps),
    node: () => ({ name: "n1", labels: {}, allocatable: { memory: "256Mi" } }),
  });
}

/** A pod whose only container mounts all the volumes. */
export function podWith(volumes: Volume[], fsGroup?: number): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  return makePod({
    containers: [{ name: "c", image: "i", volumeMounts }],
    volumes,
    securityContext: { fsGroup },
  });
}

/** False where this process may not mount. */
export function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "kindling-mounts-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "tmpfs", folder], { stdio: "ignore" }).status === 0;
  if (mounted) spawnSync("umount", [folder]);
  rmSync(folder, { recursive: true });
  return mounted;
}
