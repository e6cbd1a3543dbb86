import { expect, test } from "vitest";
import type { StatefulSetView } from "../../../src/monitor/feed/feed-message.ts";
import { describeOrdinals } from "./describe-ordinals.ts";

type Health = StatefulSetView["ordinals"][number]["health"];
const set = (...healths: readonly Health[]): StatefulSetView => ({
  namespace: "shop",
  name: "db",
  strategy: "RollingUpdate",
  replicas: healths.length,
  updateRevision: "new",
  ordinals: healths.map((health, ordinal) => ({ ordinal, health, revision: ordinal > 0 ? "new" : "old" })),
  holdUp: undefined,
});

test.each([
  {
    name: "all well",
    of: set("ready", "ready"),
    summary: "2 of 2 ready, 1 on the newest revision.",
    others: "",
  },
  { name: "none wanted", of: set(), summary: "0 of 0 ready, 0 on the newest revision.", others: "" },
  {
    name: "the worst first",
    of: set("ready", "missing", "failing", "starting"),
    summary: "1 of 4 ready, 3 on the newest revision.",
    others: "2 failing; 3 starting; 1 missing.",
  },
  {
    name: "very many",
    of: set(...Array.from({ length: 8 }, () => "missing" as const)),
    summary: "0 of 8 ready, 7 on the newest revision.",
    others: "0, 1, 2, 3, 4 and 3 more missing.",
  },
])("$name", ({ of, summary, others }) => {
  expect(describeOrdinals(of)).toEqual({ summary, others });
});
