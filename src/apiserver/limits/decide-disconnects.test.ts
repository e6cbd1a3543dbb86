import { expect, test } from "vitest";
import { decideDisconnects } from "./unread-memory.ts";

const reader = (name: string, waitedSeconds: number, bytes: number) => ({ name, waitedSeconds, bytes });

test.each([
  ["no reader within the limits", [reader("a", 59, 50), reader("b", 0, 50)], 100, []],
  [
    "every reader that reached the timeout, however little it holds",
    [reader("a", 60, 1), reader("b", 59, 50), reader("c", 61, 0)],
    51,
    ["a timeout", "c timeout"],
  ],
  [
    "the longest waiting first when too much is held",
    [reader("a", 1, 40), reader("b", 5, 40), reader("c", 3, 40)],
    120,
    ["b memory"],
  ],
  [
    "as many as it takes to get below nine tenths of the limit",
    [reader("a", 1, 40), reader("b", 5, 40), reader("c", 3, 40)],
    131,
    ["b memory", "c memory"],
  ],
  [
    "the one that holds most among those that wait equally long",
    [reader("a", 0, 10), reader("b", 0, 60), reader("c", 0, 50)],
    120,
    ["b memory"],
  ],
  [
    "no more than the timeouts where those free enough",
    [reader("a", 60, 60), reader("b", 5, 60)],
    120,
    ["a timeout"],
  ],
  ["no reader that holds nothing", [reader("a", 9, 0), reader("b", 1, 200)], 200, ["b memory"]],
])("disconnects %s", (_, unread, totalBytes, expected) => {
  const chosen = decideDisconnects(unread, totalBytes, { timeoutSeconds: 60, maxBytes: 100 });
  expect([...chosen].map(([{ name }, reason]) => `${name} ${reason}`)).toEqual(expected);
});
