import type { NodeStatus } from "../../api/objects.ts";
import type { EventToRecord } from "../../client/event-recorder.ts";

/** What there is to say when the machine has been booted since its node was last reported. */
export function rebootEvent(
  nodeName: string,
  bootId: string,
  reported: NodeStatus | undefined,
): EventToRecord | undefined {
  const before = reported?.nodeInfo?.bootID;
  if (!before || !bootId || before === bootId) return undefined;
  return {
    type: "Warning",
    reason: "Rebooted",
    message: `Node ${nodeName} has been rebooted, boot id: ${bootId}`,
  };
}
