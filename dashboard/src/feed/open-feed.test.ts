import { expect, test } from "vitest";
import { createEventReader } from "./open-feed.ts";

function read(...chunks: readonly string[]): readonly string[] {
  const reader = createEventReader();
  return chunks.flatMap((chunk) => reader(chunk));
}

test.each<{ name: string; chunks: string[]; events: string[] }>([
  { name: "one event", chunks: ["data: 1\n\n"], events: ["1"] },
  { name: "cut anywhere", chunks: ["da", "ta: 1", "2\n", "\nda", "ta:3\n\n"], events: ["12", "3"] },
  { name: "carriage returns, also cut off", chunks: ["data: 1\r", "\n\r\n"], events: ["1"] },
  { name: "comments and other fields", chunks: [": ping\n\nevent: x\nid: 4\ndata: 1\n\n"], events: ["1"] },
  { name: "data over several lines", chunks: ["data: 1\ndata: 2\n\n"], events: ["1\n2"] },
  { name: "an incomplete event", chunks: ["data: 1\n"], events: [] },
])("$name", ({ chunks, events }) => {
  expect(read(...chunks)).toEqual(events);
});
