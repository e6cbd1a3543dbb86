import { expect, test } from "vitest";
import { noProgressMessage } from "./pull-progress.ts";

const layer = (digit: string, offset: number) => ({
  digest: `sha256:${digit.repeat(64)}`,
  offset: offset * 2 ** 20,
  total: 50 * 2 ** 20,
  stage: "downloading",
});

test.each([
  { name: "nothing had arrived", layers: [layer("a", 0)], after: "" },
  { name: "before the manifest", layers: [], after: "" },
  {
    name: "parts of two layers had arrived",
    layers: [layer("a", 50), layer("b", 3), layer("c", 0), layer("d", 20)],
    after: " after 3.0 MiB of 50.0 MiB of layer bbbbbbbbbbbb, 20.0 MiB of 50.0 MiB of layer dddddddddddd",
  },
])("$name", ({ layers, after }) => {
  expect(noProgressMessage("web:1", { timeoutMs: 10_000, layers })).toBe(
    `pulling web:1: no progress, the registry sent nothing for 10 s${after}; check that it is up and reachable`,
  );
});

test("3542-14 names the registry, and the layer of which nothing has arrived", () => {
  const message = noProgressMessage("r.example.com/web:1", {
    timeoutMs: 60_000,
    layers: [layer("a", 50), layer("b", 0), layer("c", 0)],
    registry: "r.example.com",
  });
  expect(message).toBe(
    "pulling r.example.com/web:1: no progress, the registry r.example.com sent nothing for 60 s after 0 B of 50.0 MiB of layer bbbbbbbbbbbb; check that it is up and reachable",
  );
});
