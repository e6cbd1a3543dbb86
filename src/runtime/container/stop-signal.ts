import { constants } from "node:os";
import { Signal } from "../../cri/generated/cri.ts";

/** The signal that asks a container to stop: the request's, else the image's, else SIGTERM. */
export function stopSignalOf(requested: Signal, imageSignal: string | undefined): string {
  if (requested !== Signal.SIGNAL_RUNTIME_DEFAULT) return criSignalName(requested);
  return imageSignalName(imageSignal ?? "") ?? "SIGTERM";
}

function criSignalName(signal: Signal): string {
  const [name = ""] = Object.entries(Signal).find(([, value]) => value === signal) ?? [];
  // SIGNAL_SIGRTMINPLUS3 is SIGRTMIN+3.
  return name.replace("SIGNAL_", "").replace("PLUS", "+").replace("MINUS", "-");
}

/** Images write `SIGQUIT`, `QUIT`, `3` or `SIGRTMIN+3`. What is no signal is ignored. */
function imageSignalName(text: string): string | undefined {
  const upper = text.toUpperCase();
  if (/^\d+$/.test(upper)) {
    return Object.entries(constants.signals).find(([, number]) => number === Number(upper))?.[0];
  }
  const name = upper.startsWith("SIG") ? upper : `SIG${upper}`;
  return name in constants.signals || /^SIGRTM(IN\+|AX-)\d+$/.test(name) ? name : undefined;
}

/** The value for a container's status. */
export function stopSignalValue(name: string): Signal {
  const key = `SIGNAL_${name.replace("+", "PLUS").replace("-", "MINUS")}`;
  return Object.entries(Signal).find(([known]) => known === key)?.[1] ?? Signal.SIGNAL_RUNTIME_DEFAULT;
}
