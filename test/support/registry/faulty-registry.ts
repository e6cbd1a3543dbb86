import { randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect } from "vitest";
import {
  digestOf,
  type FakeRegistry,
  type FakeRegistryOptions,
  layerOf,
  startFakeRegistry,
} from "./fake-registry.ts";
import { type ImagesFixture, openImages, pullAll } from "./images.ts";

/** Of three megabytes that nothing makes smaller. */
export const layer = layerOf("data", randomBytes(3_000_000));

export const isLayer = (url: string | undefined) => url?.endsWith(digestOf(layer)) ?? false;

/** An image store for each test, and a registry with the test's behaviour. */
export interface FaultyRegistry {
  readonly fixture: ImagesFixture;
  start(options?: Partial<FakeRegistryOptions>): Promise<FakeRegistry>;
  /** To the end, or its failure. */
  pull(request: Parameters<typeof pullAll>[1]): ReturnType<typeof pullAll>;
  /** Nothing of the failed pull is left but what a retry goes on from. */
  expectNothingUnpacked(): void;
}

/** Filled before each test. */
export function useFaultyRegistry(): FaultyRegistry {
  let fixture: ImagesFixture;
  let registry: FakeRegistry | undefined;
  beforeEach(async () => {
    fixture = await openImages();
  });
  afterEach(async () => {
    await registry?.stop();
    registry = undefined;
    await fixture.remove();
  });
  return {
    get fixture() {
      return fixture;
    },
    async start(options = {}) {
      registry = await startFakeRegistry({ layers: [layer], ...options });
      return registry;
    },
    pull: (request) => pullAll(fixture.images, request),
    expectNothingUnpacked() {
      expect(readdirSync(join(fixture.dataDir, "layers"))).toEqual([]);
      expect(readdirSync(join(fixture.dataDir, "staging"))).toEqual([]);
      expect(fixture.images.list()).toEqual([]);
    },
  };
}

/** Until so much of a layer is in the file that the next try goes on from. */
export async function untilWritten(
  bytes: number,
  { dataDir }: Pick<ImagesFixture, "dataDir">,
  of = layer,
): Promise<void> {
  const file = join(dataDir, "content/partial", digestOf(of).replace("sha256:", ""));
  while (statSync(file, { throwIfNoEntry: false })?.size !== bytes) await delay(5);
}
