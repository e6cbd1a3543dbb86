import type { ContainerEventType } from "../cri/generated/cri.ts";
import type { SimulatedCore } from "./core.ts";
import { eventMessage } from "./messages.ts";
import type { ContainerRecord, SandboxRecord } from "./records.ts";

export function publishSandboxEvent(
  core: SimulatedCore,
  sandbox: SandboxRecord,
  type: ContainerEventType,
): void {
  if (core.events.listened())
    core.events.publish(eventMessage({ sandbox, containerId: sandbox.id, type }, core.clock.now()));
}

export function publishContainerEvent(
  core: SimulatedCore,
  { sandbox, id }: ContainerRecord,
  type: ContainerEventType,
): void {
  if (core.events.listened())
    core.events.publish(eventMessage({ sandbox, containerId: id, type }, core.clock.now()));
}
