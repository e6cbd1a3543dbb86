import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FeedStore } from "./feed/feed-store.ts";
import { FinishedPanel } from "./finished/finished-panel.tsx";
import { EventsPanel } from "./lists/events-panel.tsx";
import { NodesPanel } from "./lists/nodes-panel.tsx";
import { SlosPanel } from "./lists/slos-panel.tsx";
import { StatefulSetsPanel } from "./lists/stateful-sets-panel.tsx";
import { StartingPanel } from "./starting/starting-panel.tsx";
import { useFeed } from "./view/hooks.ts";
import { LostBanner } from "./view/lost-banner.tsx";
import { type Tab, Tabs } from "./view/tabs.tsx";
import { TopBar } from "./view/top-bar.tsx";

const tabIds = ["starting", "finished", "statefulsets", "slos", "nodes", "events"] as const;
type TabId = (typeof tabIds)[number];

export function App({ store, onRetry }: { readonly store: FeedStore; readonly onRetry: () => void }) {
  const { state, connection, hasSession } = useFeed(store);
  const [tab, setTab] = useTabInAddress();
  const [filter, setFilter] = useState("");
  const clearFilter = () => setFilter("");
  const tabs = useMemo<readonly Tab<TabId>[]>(() => {
    const spent = state.slos.filter(({ budgetLeft }) => budgetLeft <= 0).length;
    const down = state.nodes.filter(({ ready }) => !ready).length;
    const blocked = [...state.statefulSets.values()].filter(({ blockedBy }) => blockedBy).length;
    return [
      { id: "starting", label: "Starting", count: state.startingTotal },
      { id: "finished", label: "Finished", count: state.finished.length },
      {
        id: "statefulsets",
        label: "StatefulSets",
        count: state.statefulSets.size,
        alert: blocked ? `${blocked} blocked` : undefined,
      },
      { id: "slos", label: "SLOs", count: state.slos.length, alert: spent ? `${spent} spent` : undefined },
      {
        id: "nodes",
        label: "Nodes",
        count: state.nodes.length,
        alert: down ? `${down} not ready` : undefined,
      },
      { id: "events", label: "Events", count: state.events.length },
    ];
  }, [state]);
  const panels: Record<TabId, () => preact.ComponentChild> = {
    starting: () => <StartingPanel store={store} state={state} filter={filter} onClearFilter={clearFilter} />,
    finished: () => <FinishedPanel starts={state.finished} filter={filter} onClearFilter={clearFilter} />,
    statefulsets: () => (
      <StatefulSetsPanel sets={state.statefulSets} filter={filter} onClearFilter={clearFilter} />
    ),
    slos: () => <SlosPanel slos={state.slos} />,
    nodes: () => <NodesPanel nodes={state.nodes} filter={filter} onClearFilter={clearFilter} />,
    events: () => <EventsPanel events={state.events} filter={filter} onClearFilter={clearFilter} />,
  };
  useEffect(() => {
    const count = state.startingTotal;
    document.title = count > 0 ? `${count.toLocaleString("en")} starting · Kindling` : "Kindling";
  }, [state.startingTotal]);
  const isKnown = state.cluster !== undefined;
  return (
    <>
      <a class="skip" href="#panel">
        Skip to the content
      </a>
      <TopBar
        cluster={state.cluster}
        connection={connection}
        hasSession={hasSession}
        filter={filter}
        onFilter={setFilter}
      />
      <Tabs tabs={tabs} selected={tab} onSelect={setTab} />
      <SpokenCount count={state.startingTotal} isKnown={isKnown} />
      {connection.kind === "lost" && <LostBanner connection={connection} onRetry={onRetry} />}
      <main>
        <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={-1}>
          {isKnown ? panels[tab]() : <p class="empty">Waiting for the server…</p>}
        </div>
      </main>
    </>
  );
}

function useTabInAddress(): [TabId, (tab: TabId) => void] {
  const [tab, setTab] = useState<TabId>(() => tabInAddress() ?? "starting");
  useEffect(() => {
    // An address without a tab, such as that of the skip link, keeps the selected tab.
    const onHashChange = () => setTab((open) => tabInAddress() ?? open);
    addEventListener("hashchange", onHashChange);
    return () => removeEventListener("hashchange", onHashChange);
  }, []);
  return [
    tab,
    (next) => {
      setTab(next);
      location.hash = next;
    },
  ];
}

function tabInAddress(): TabId | undefined {
  return tabIds.find((id) => `#${id}` === location.hash);
}

const everyMs = 5_000;

/** Number of starting pods for screen readers, announced at a limited rate. */
function SpokenCount({ count, isKnown }: { readonly count: number; readonly isKnown: boolean }) {
  const latest = useRef(count);
  latest.current = count;
  const [spoken, setSpoken] = useState<number>();
  useEffect(() => {
    if (!isKnown) return;
    setSpoken(latest.current);
    const timer = setInterval(() => setSpoken(latest.current), everyMs);
    return () => clearInterval(timer);
  }, [isKnown]);
  return (
    <p class="offscreen" aria-live="polite">
      {spoken === undefined ? "" : `${spoken} ${spoken === 1 ? "pod is" : "pods are"} starting`}
    </p>
  );
}
