import '@fontsource-variable/inter/index.css';
import '@fontsource-variable/jetbrains-mono/index.css';
import './styles/tokens.css';
import './styles/base.css';
import { mount } from 'svelte';
import { Engine } from './state/engine.svelte.ts';
import AppRoot from './App.svelte';
import { loadView } from './shell/routes.svelte.ts';
import { VIEWS } from './shell/views.ts';
import { App } from './state/app.svelte.ts';

const engine = new Engine(window);
const app = new App(
  engine,
  VIEWS.map(({ id }) => id),
);
void app.start();
// The view's code loads while the engine starts. If that fails, the shell loads it again and reports the failure.
loadView(app.location.view).catch(() => undefined);
// Charts measure their labels once, so the fonts must be loaded first. They come with the page, so the wait is short.
await Promise.all(['400', '600'].map((weight) => document.fonts.load(`${weight} 12px "Inter Variable"`)));
mount(AppRoot, { target: document.getElementById('app')!, props: { app } });
