import { messageOf } from "../../lib/message-of.ts";
export interface CollectedErrors {
  /** Runs it and keeps what it throws. */
  try(attempt: () => void): void;
  add(error: unknown): void;
  /** One error with all that were kept, as upstream joins them; none when all went well. */
  throwAny(): void;
}

export function collectErrors(): CollectedErrors {
  const messages = new Set<string>();
  const add = (error: unknown) => void messages.add(messageOf(error));
  return {
    try(attempt) {
      try {
        attempt();
      } catch (error) {
        add(error);
      }
    },
    add,
    throwAny() {
      if (messages.size === 0) return;
      const [first = ""] = messages;
      throw new Error(messages.size === 1 ? first : `[${[...messages].join(", ")}]`);
    },
  };
}
