// Follows a link, and waits until the application reports that the page stays.
'use strict';

function visit(url) {
  const wanted = new URL(url, location.href).href;
  return new Promise((resolve) => {
    const stop = signalbox.on('verdict', (told) => {
      if (told !== wanted) return;
      stop();
      resolve();
    });
    const link = document.createElement('a');
    link.href = wanted;
    link.click();
  });
}
