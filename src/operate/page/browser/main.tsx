import { render } from 'preact';
import { Page } from './page.tsx';
import { keepPlaces } from './scroll.ts';
import './styles/page.css';
import './styles/tables.css';
import './styles/forms.css';
import './styles/parts.css';
import './styles/drawings.css';

keepPlaces();
const place = document.getElementById('page');
if (place) render(<Page />, place);
