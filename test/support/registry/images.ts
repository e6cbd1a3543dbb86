import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createImages,
  type ImagesOptions,
  type LocalImages,
} from "../../../src/runtime/images/create-images.ts";
import type { PullReport, PullRequest } from "../../../src/runtime/images/images.ts";
import { unpackProgram } from "../programs/unpack-program.ts";

/** Images in a separate directory. */
export interface ImagesFixture {
  readonly images: LocalImages;
  readonly dataDir: string;
  remove(): Promise<void>;
}

export async function openImages(options: Partial<ImagesOptions> = {}): Promise<ImagesFixture> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "kindling-images-")));
  const images = await createImages({
    dataDir,
    unpackProgram: await unpackProgram(),
    dockerConfigFile: join(dataDir, "no-docker-config.json"),
    ...options,
  });
  return {
    images,
    dataDir,
    async remove() {
      await images.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Pulls to the end; all reports, the last one being `done`. */
export async function pullAll(
  images: LocalImages,
  request: Partial<PullRequest> & Pick<PullRequest, "reference">,
): Promise<PullReport[]> {
  const reports: PullReport[] = [];
  const whole = { granularity: { kind: "none" }, signal: new AbortController().signal, ...request } as const;
  for await (const report of images.pull(whole)) reports.push(report);
  return reports;
}
