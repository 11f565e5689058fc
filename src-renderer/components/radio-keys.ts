import type { Attachment } from 'svelte/attachments';
import { on } from 'svelte/events';

/** Gives a group of buttons with the role `radio` the arrow keys, Home and End: `{@attach radioKeys}`. */
export const radioKeys: Attachment<HTMLElement> = (group) =>
  on(group, 'keydown', (event) => {
    const radios = [...group.querySelectorAll<HTMLButtonElement>('[role=radio]:enabled')];
    const here = radios.findIndex(({ ariaChecked }) => ariaChecked === 'true');
    const [next, previous] = [here + 1, here - 1];
    const to = { ArrowDown: next, ArrowRight: next, ArrowUp: previous, ArrowLeft: previous, Home: 0, End: -1 }[
      event.key
    ];
    const radio = to === undefined ? undefined : radios.at(to % radios.length);
    if (!radio) return;
    event.preventDefault();
    radio.click();
    radio.focus();
  });
