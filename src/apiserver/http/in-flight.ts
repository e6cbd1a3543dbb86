import { tooManyRequests } from "../../api/status-error.ts";

/** Bounds how many requests are worked on at once; watches and streams do not count. */
export interface InFlight {
  /** Throws 429 when there are too many; the answer must be called when the request is done. */
  enter(kind: "read" | "write"): () => void;
}

/** A write can hold a body of megabytes, a read holds little: together they bound what clients can make us keep. */
const limits = { read: 2_000, write: 1_000 };

export function createInFlight(): InFlight {
  const count = { read: 0, write: 0 };
  return {
    enter(kind) {
      if (count[kind] >= limits[kind]) {
        throw tooManyRequests(
          "the server has received too many requests and has asked us to try again later",
          1,
        );
      }
      count[kind]++;
      return () => {
        count[kind]--;
      };
    },
  };
}
