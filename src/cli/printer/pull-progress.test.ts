import { expect, test } from "vitest";
import { formatBytes } from "./bytes.ts";
import { formatPullJson, formatPullLine, type PullView, renderBar, renderPull } from "./pull-progress.ts";

const mib = 1_024 ** 2;
const layer = (name: string, offset: number, total: number, stage: string) => ({
  layer: `sha256:${name.repeat(64)}`,
  offset: offset * mib,
  total: total * mib,
  stage,
});
const view: PullView = {
  imageRef: "busybox",
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
  const text = formatPullJson({ ...view, layers: first ? [first] : [] });
  expect(JSON.parse(text)).toEqual({
    imageRef: "busybox",
    offset: 15 * mib,
    total: 40 * mib,
    details: [{ layer: `sha256:${"a".repeat(64)}`, offset: 10 * mib, total: 10 * mib, stage: "done" }],
  });
  expect(text.endsWith("}\n")).toBe(true);
});
