import { useEffect, useRef, useState } from "preact/hooks";

const everyMs = 5_000;

/** How many pods are starting, said aloud by screen readers: when it changes, but not with every pod. */
export function SpokenCount({ count, isKnown }: { readonly count: number; readonly isKnown: boolean }) {
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
