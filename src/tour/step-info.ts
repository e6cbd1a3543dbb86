/** What a stop of the tour is about. */
export interface StepInfo {
  readonly title: string;
  /** The proposal that it shows. */
  readonly proposal: string;
  /** What it is good for, in a sentence or two. */
  readonly about: string;
  /** Where the whole story is, in docs. */
  readonly page: string;
  /** Whether it is about the pull: where none of them is, images come as fast as they can. */
  readonly showsPull?: boolean;
}
