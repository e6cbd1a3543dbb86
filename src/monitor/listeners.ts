import type { Logger } from "../lib/logger.ts";

/** Whoever wants to hear of something. One that fails is logged, and the others hear of it all the same. */
export interface Listeners<T> {
  add(listener: (value: T) => void): void;
  tell(value: T): void;
}

export function createListeners<T>(logger: Logger): Listeners<T> {
  const listeners: ((value: T) => void)[] = [];
  return {
    add: (listener) => void listeners.push(listener),
    tell(value) {
      for (const listener of listeners) {
        try {
          listener(value);
        } catch (error) {
          logger.error("a listener failed", { error });
        }
      }
    },
  };
}
