// The messages that the shop's pages send to the application. Needs no document.
'use strict';

const shop = {
  async begin() {
    await signalbox.call('loading', { isShow: true });
    await signalbox.call('log', { text: 'the shop begins' });
    await signalbox.call('openCard', { card: 'gold' });
    await webkit.messageHandlers.user?.postMessage('Hello');
    await signalbox.call('loading', { isShow: false });
  },

  async pay(amount) {
    const order = { amount, transactionId: 't-1', paymentId: 'p-1', paymentGoodsName: 'Lamp' };
    try {
      const { receipt } = await signalbox.call('payment', order, { id: 'order-' + amount });
      await signalbox.call('log', { text: 'paid, ' + receipt });
    } catch (error) {
      await signalbox.call('log', { text: 'not paid: ' + error.code });
    }
  },

  log: (text) => signalbox.call('log', { text }),

  // Runs a page's script. The application closes the page at its end, and ends with an error if a call failed.
  run: (script) => script().then(
    () => webkit.messageHandlers.page.postMessage('Close'),
    (error) => webkit.messageHandlers.page.postMessage('Failed: ' + error.message),
  ),
};
