import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FeedStore } from "../feed/feed-store.ts";

export function useFeed(store: FeedStore) {
  const [, setVersion] = useState(0);
  useEffect(() => store.subscribe(() => setVersion((version) => version + 1)), [store]);
  return { state: store.state(), connection: store.connection(), hasSession: store.hasSession() };
}

/** Renders the component periodically while the page is visible. */
export function useTick(everyMs: number, isActive: boolean): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(() => document.hidden || setTick((tick) => tick + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isActive]);
}

/** Rendering interval of running durations. */
export function useCountingMs(): number {
  return useMedia("(prefers-reduced-motion: reduce)") ? 1_000 : 100;
}

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const change = () => setMatches(list.matches);
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, [query]);
  return matches;
}

export function useSize<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, ...size };
}
