import { mount } from "svelte";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import App from "./App.svelte";

const place = document.getElementById("app");
if (place) mount(App, { target: place });
