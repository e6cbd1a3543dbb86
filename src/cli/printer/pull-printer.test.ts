import { expect, test } from "vitest";
import { formatBytes } from "../../lib/format-bytes.ts";
import type { PullProgress } from "../../lib/image/pull-progress.ts";
import {
  addSample,
  bytesPerSecond,
  formatPullJson,
  formatPullLine,
  renderBar,
  renderPull,
  type Sample,
} from "./pull-printer.ts";

test("the rate is that of the last seconds", () => {
  let samples: readonly Sample[] = [];
  expect(bytesPerSecond(samples)).toBeUndefined();
  samples = addSample(samples, { at: 0, bytes: 0 });
  expect(bytesPerSecond(samples)).toBeUndefined();
  samples = addSample(samples, { at: 2_000, bytes: 1_000 });
  expect(bytesPerSecond(samples)).toBe(500);
  samples = addSample(samples, { at: 6_000, bytes: 9_000 });
  expect(bytesPerSecond(samples)).toBe(2_000);
});

const mib = 1_024 ** 2;
const layer = (name: string, offset: number, total: number, stage: string) => ({
  digest: `sha256:${name.repeat(64)}`,
  offset: offset * mib,
  total: total * mib,
  stage,
});
const view: PullProgress = {
  offset: 15 * mib,
  total: 40 * mib,
  layers: [
    layer("a", 10, 10, "done"),
    layer("b", 5, 20, "downloading"),
    layer("c", 0, 10, "waiting"),
    layer("d", 7, 7, "exists"),
  ],
};

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_536, "1.5 KiB"],
  [150 * mib, "150 MiB"],
  [2.5 * 1_024 ** 4, "2.5 TiB"],
])("%i bytes are %s", (count, text) => {
  expect(formatBytes(count)).toBe(text);
});

test.each([
  [0, 100, "[>         ]"],
  [50, 100, "[=====>    ]"],
  [100, 100, "[==========]"],
  [200, 100, "[==========]"],
  [0, 0, "[>         ]"],
])("%i of %i", (offset, total, bar) => {
  expect(renderBar(offset, total, 12)).toBe(bar);
});

test("3542-8 a bar per layer, with bytes, rate and time left", () => {
  expect(renderPull(view, { bytesPerSecond: 5 * mib, screen: { columns: 80, rows: 24 } })).toEqual([
    "aaaaaaaaaaaa  done         10.0 MiB",
    "bbbbbbbbbbbb  downloading  [======>                    ] 5.0 MiB / 20.0 MiB",
    "cccccccccccc  waiting      [>                          ] 0 B / 10.0 MiB",
    "dddddddddddd  exists       7.0 MiB",
    "15.0 MiB of 40.0 MiB, 5.0 MiB/s, 5s left",
  ]);
});

test("a small screen shows what is in progress, and no line is wider than it", () => {
  const lines = renderPull(view, { bytesPerSecond: undefined, screen: { columns: 30, rows: 5 } });
  expect(lines).toEqual([
    "bbbbbbbbbbbb  [=>     ]  25 %",
    "cccccccccccc  waiting",
    "… and 2 more layers",
    "15.0 MiB of 40.0 MiB",
  ]);
});

test("in 40 columns there is a bar, and no figure is cut", () => {
  expect(renderPull(view, { bytesPerSecond: 5 * mib, screen: { columns: 40, rows: 24 } })).toEqual([
    "aaaaaaaaaaaa  done         10.0 MiB",
    "bbbbbbbbbbbb  [====>            ]  25 %",
    "cccccccccccc  waiting",
    "dddddddddddd  exists       7.0 MiB",
    "15.0 MiB of 40.0 MiB, 5s left",
  ]);
});

test("a line for pipes", () => {
  expect(formatPullLine("busybox", view)).toBe("busybox: 15.0 MiB of 40.0 MiB (1 downloading)\n");
});

test("3542-8 a JSON line for scripts", () => {
  const [first] = view.layers;
  const text = formatPullJson({ ...view, layers: first ? [first] : [] }, "busybox");
  expect(JSON.parse(text)).toEqual({
    imageRef: "busybox",
    offset: 15 * mib,
    total: 40 * mib,
    details: [{ layer: `sha256:${"a".repeat(64)}`, offset: 10 * mib, total: 10 * mib, stage: "done" }],
  });
  expect(text.endsWith("}\n")).toBe(true);
});

test.each([
  [
    "already present",
    { offset: 0, total: 0, layers: [layer("a", 7, 7, "exists"), layer("b", 1, 1, "exists")] },
  ],
  ["0 B", { offset: 0, total: 0, layers: [layer("a", 0, 0, "waiting")] }],
  ["3.0 MiB", { offset: 3 * mib, total: 0, layers: [layer("a", 3, 0, "verifying")] }],
])("3542-8 prints %s if the total is 0", (amount, progress) => {
  expect(formatPullLine("web:1", progress).startsWith(`web:1: ${amount}`)).toBe(true);
  const lines = renderPull(progress, { bytesPerSecond: undefined, screen: { columns: 80, rows: 24 } });
  expect(lines.at(-1)).toBe(amount);
});
