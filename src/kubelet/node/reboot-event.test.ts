import { expect, test } from "vitest";
import { buildNodeStatus } from "./build-node.ts";
import { nodeFacts } from "./node.fixture.ts";
import { rebootEvent } from "./reboot-event.ts";

const reported = buildNodeStatus(nodeFacts());

test("says once that the machine was booted", () => {
  expect(rebootEvent("node-1", "boot-2", reported)).toEqual({
    type: "Warning",
    reason: "Rebooted",
    message: "Node node-1 has been rebooted, boot id: boot-2",
  });
});

test.each([
  ["the same boot", "boot-1", reported],
  ["a new node", "boot-2", undefined],
  ["a machine that does not tell", "", reported],
])("nothing to say: %s", (_, bootId, before) => {
  expect(rebootEvent("node-1", bootId, before)).toBeUndefined();
});
