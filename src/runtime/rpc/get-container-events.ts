import type { ContainerEventResponse, GetEventsRequest } from "../../cri/generated/cri.ts";
import type { StreamRpc } from "../../cri/serve-call.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

/** From now on, until the caller goes away or falls too far behind. */
export function getContainerEvents({
  events,
}: Pick<RuntimeState, "events">): StreamRpc<GetEventsRequest, ContainerEventResponse> {
  return (_request, { signal }) => events.subscribe(signal);
}
