/** Tasks that run in the background on behalf of one owner, which waits for them before it closes. */
export interface TaskGroup {
  /** Adds a task. Failures are the caller's to handle; the group only waits. */
  add(task: Promise<unknown>): void;
  /** Resolves when no task is running, including tasks that were added meanwhile. */
  settled(): Promise<void>;
}

export function createTaskGroup(): TaskGroup {
  const running = new Set<Promise<unknown>>();
  return {
    add(task) {
      running.add(task);
      const forget = () => void running.delete(task);
      task.then(forget, forget);
    },
    async settled() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
