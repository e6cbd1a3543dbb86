import { expect, test } from "vitest";
import { columnsOf } from "./terminal-text.ts";
import { formatListJson, renderWhyList, type WhyList } from "./why-list.ts";

const now = Date.parse("2026-01-01T00:05:00Z");
const list: WhyList = {
  rows: [
    {
      namespace: "shop",
      name: "web-0",
      explanation: {
        stage: "creating",
        since: "2026-01-01T00:00:00Z",
        because:
          'Container c is waiting: CreateContainerConfigError: configmap "settings"\u001b[2J not found.',
        isTransient: false,
        fix: "create it: kubectl create configmap settings",
      },
    },
    {
      namespace: "default",
      name: "db-0",
      explanation: {
        stage: "scheduling",
        since: undefined,
        because: "No node fits.",
        isTransient: true,
        fix: undefined,
      },
    },
  ],
  total: 5,
  where: "in all namespaces",
  unreadable: [],
  now,
};
const plain = { columns: 70, color: false, isTerminal: true };

test("one line for each pod: namespace, pod, stage, since and cause, cut to the width of the terminal", () => {
  const lines = renderWhyList(list, plain);
  expect(lines).toEqual([
    "NAMESPACE   POD     STAGE        SINCE   CAUSE",
    "shop        web-0   creating     5m      Container c is waiting: Cre…",
    "default     db-0    scheduling           No node fits.",
  ]);
  expect(Math.max(...lines.map(columnsOf))).toBeLessThan(70);
});

test("in a pipe the cause is whole and has no control characters", () => {
  const [, line] = renderWhyList(list, { ...plain, isTerminal: false });
  expect(line).toMatch(/configmap "settings"\[2J not found\.$/);
});

test.each([
  { total: 0, text: "There are no pods in all namespaces." },
  { total: 1, text: "The only pod in all namespaces is ready or has completed." },
  { total: 3, text: "All 3 pods in all namespaces are ready or have completed." },
])("nothing to explain: $text", ({ total, text }) => {
  expect(renderWhyList({ ...list, rows: [], total }, plain)).toEqual([text]);
});

test("names what could not be read", () => {
  const lines = renderWhyList({ ...list, unreadable: ["events", "nodes"] }, plain);
  expect(lines.slice(-2)).toEqual([
    "",
    "You are not allowed to read events and nodes; causes may lack what they show.",
  ]);
  expect(JSON.parse(formatListJson({ ...list, unreadable: ["events"] }))).toMatchObject({
    kind: "List",
    total: 5,
    pods: [{ namespace: "shop", name: "web-0", stage: "creating" }, { name: "db-0" }],
    unreadable: ["events"],
  });
});
