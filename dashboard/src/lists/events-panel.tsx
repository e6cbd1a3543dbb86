import { useMemo } from "preact/hooks";
import type { EventView } from "../../../src/monitor/feed/feed-message.ts";
import { createFilter } from "../text/create-filter.ts";
import { Empty, NoMatch } from "../view/empty.tsx";

export function EventsPanel(props: {
  readonly events: readonly EventView[];
  readonly filter: string;
  readonly onClearFilter: () => void;
}) {
  const shown = useMemo(() => {
    const matches = createFilter(props.filter);
    return (
      props.events
        .filter(({ object }) => matches(object))
        // A repeated event moves to the top.
        .sort((a, b) => Date.parse(b.time) - Date.parse(a.time))
    );
  }, [props.events, props.filter]);
  if (props.events.length === 0)
    return <Empty title="There are no events yet.">Events appear here as they are recorded.</Empty>;
  if (shown.length === 0) return <NoMatch filter={props.filter} onClear={props.onClearFilter} />;
  return (
    <div class="scroll">
      <div class="table-scroll card">
        <table class="events">
          <caption class="offscreen">Events, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Reason</th>
              <th scope="col">About</th>
              <th scope="col">Message</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((event) => (
              <tr key={event.uid}>
                <td class="event-time">
                  <time dateTime={event.time}>{timeOfDay(event.time)}</time>
                </td>
                <td>
                  <span
                    class={`dot tone-${event.type === "Warning" ? "failing" : "over"}`}
                    aria-hidden="true"
                  />
                  {event.type === "Warning" && <span class="offscreen">Warning: </span>}
                  <bdi>{event.reason}</bdi>
                  {event.count > 1 && <span class="muted"> ×{event.count.toLocaleString("en")}</span>}
                </td>
                <td class="event-object">
                  <bdi>{event.object}</bdi>
                </td>
                <td class="event-message">
                  <bdi>{event.message}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function timeOfDay(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "–" : date.toLocaleTimeString("en-GB");
}
