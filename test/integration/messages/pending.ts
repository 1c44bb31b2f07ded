import type {MessagesAnswer} from './client.ts';

export interface Pending {
  readonly answer: Promise<MessagesAnswer>;
  readonly answered: () => MessagesAnswer | undefined;
}

/** An answer, and whether it is there already. */
export function pending(answer: Promise<MessagesAnswer>): Pending {
  let got: MessagesAnswer | undefined;
  void answer.then(each => {
    got = each;
  });
  return {answer, answered: () => got};
}
