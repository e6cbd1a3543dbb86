import { ContainerEventType } from "../../cri/generated/cri.ts";
import { endUnstarted, stopContainer } from "../container/stop-container.ts";
import { publishEvent } from "../state/publish-event.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { releaseSandbox } from "./release-sandbox.ts";

/** Ends what still runs in a sandbox and gives its address back. Idempotent; the caller holds its lock. */
export async function stopSandbox(state: RuntimeState, sandboxId: string): Promise<void> {
  const { sandboxes, containers, locks } = state;
  const wasReady = sandboxes.get(sandboxId)?.state.kind === "ready";
  // First of all: nothing can be created or started in it from here on.
  await sandboxes.change(sandboxId, (sandbox) => ({ ...sandbox, state: { kind: "notReady" } }));
  const members = containers.list().filter((container) => container.sandboxId === sandboxId);
  await Promise.all(
    members.map(({ id }) =>
      locks.run(id, async () => {
        const container = containers.get(id);
        if (container?.state.kind === "created") await endUnstarted(state, container);
        if (container?.state.kind === "running") await stopContainer(state, container, { timeoutMs: 0 });
      }),
    ),
  );
  await releaseSandbox(state, sandboxId);
  if (wasReady) publishEvent(state, { sandboxId, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
}
